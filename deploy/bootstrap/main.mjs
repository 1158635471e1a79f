// One command on a bare machine: `node deploy/bootstrap/main.mjs [--check] <job> [arguments]`.
//
// Finds or fetches Node 24, the packages, nats-server and bubblewrap, then runs the job under Node 24.
//  B1  Runs on Node 18 and later with nothing installed: only Node's own modules, plain JavaScript.
//  B2  Writes to .tools/ and node_modules/ of this checkout and nowhere else; needs no root and never asks.
//  B3  Speaks on stderr only, one line a step; stdout belongs to the job.
//  B4  A step first looks, without a lock; only one that must change something takes the lock, and looks again.
//  B5  The job's exit code is the exit code.
import { spawn } from 'node:child_process';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bubblewrap } from './bubblewrap.mjs';
import { jobs } from './jobs.mjs';
import { takeLock } from './lock.mjs';
import { natsServer } from './nats-server.mjs';
import { node24 } from './node24.mjs';
import { packages } from './packages.mjs';

const USAGE = 2;
const TRY_AGAIN_AFTER_MS = 3_600_000;

// Read before anything else: later it may have been killed, and we would take its heir for it.
const startedBy = process.ppid;
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const steps = [node24, packages, natsServer, bubblewrap];

function parse(argv) {
  const [first, ...others] = argv[0] === '--check' ? argv.slice(1) : argv;
  const job = first === undefined ? undefined : jobs[first];
  // The command line's own options belong to it; any other job may have --check behind its name as well.
  const trailing = first !== 'interlock' && others[0] === '--check';
  return { job, check: argv[0] === '--check' || trailing, rest: trailing ? others.slice(1) : others };
}

const say = (text) => process.stderr.write(`${text}\n`);

function line(step, startedMs, detail) {
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1).padStart(5);
  say(`interlock: ${step.name.padEnd(11)} ${seconds} s  ${detail}  [skip: ${step.variable}]`);
}

/** A step that may fail and did is not tried again by every command of the next hour. */
const failedMark = (context, step) => join(context.tools, `${step.name}.failed`);
function failedLately(context, step) {
  const mark = failedMark(context, step);
  return existsSync(mark) && Date.now() - statSync(mark).mtimeMs < TRY_AGAIN_AFTER_MS;
}

async function take(context, step) {
  const lock = await takeLock(context.tools, (pid) =>
    say(`interlock: waiting for another set-up (process ${pid})`),
  );
  try {
    const meanwhile = await step.find(context);
    if (meanwhile) return meanwhile;
    if (process.stderr.isTTY) process.stderr.write(`interlock: ${step.name} …\r`);
    const mark = failedMark(context, step);
    rmSync(mark, { force: true });
    return await step.obtain(context).catch((error) => {
      writeFileSync(mark, `${error.message}\n`);
      throw error;
    });
  } finally {
    lock();
  }
}

/** Does one step and returns the context for the next. */
async function perform(context, step) {
  const started = Date.now();
  const mayFail = step.optional || context.job.try?.includes(step.name);
  try {
    const found = await step.find(context);
    if (!found && context.check) {
      line(step, started, step.plan());
      return context;
    }
    if (!found && mayFail && context.job.quiet && failedLately(context, step)) return context;
    const result = found ?? (await take(context, step));
    if (!found || !context.job.quiet) line(step, started, result.detail);
    const PATH = [...(result.path ?? []), context.env.PATH].join(delimiter);
    return { ...context, node: result.node ?? context.node, env: { ...context.env, ...result.env, PATH } };
  } catch (error) {
    if (!mayFail) throw new Error(`${step.name}: ${error.message}\n  What to do: ${step.advice}.`);
    line(step, started, `WARNING, none: ${error.message}; ${step.advice}`);
    return context;
  }
}

/** Runs the job with this terminal; resolves to its exit code. */
function runJob(context, rest) {
  const { script, args } = context.job;
  const child = spawn(context.node, [join(root, script), ...args, ...rest], {
    stdio: 'inherit',
    env: context.env,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal sends Ctrl-C to the whole group, so the job has it already; a second one would mean "at once".
    process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
  }
  if (process.env.npm_lifecycle_event) endWith(startedBy, child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

/** A package manager that was killed could not pass a signal on: the job ends with it instead of running on unseen. */
function endWith(parent, child) {
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, 500);
  timer.unref();
}

async function main(argv) {
  const { job, check, rest } = parse(argv);
  if (!job) {
    say(`usage: node deploy/bootstrap/main.mjs [--check] ${Object.keys(jobs).join('|')} [arguments]`);
    return USAGE;
  }
  let context = { root, tools: join(root, '.tools'), env: process.env, node: process.execPath, job, check };
  const needed = steps.filter((step, index) => index < 2 || job.needs.includes(step.name));
  for (const step of needed) context = await perform(context, step);
  if (check) return 0;
  if (!existsSync(join(root, job.script))) throw new Error(`${job.script} is not there`);
  return runJob(context, rest);
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    say(`interlock: ${error.message}`);
    process.exit(1);
  },
);
