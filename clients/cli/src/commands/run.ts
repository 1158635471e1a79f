import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Budgets, type Mode, modeSchema } from '@interlock/contracts';
import { putArtifact } from '@interlock/kit';
import { groundsOf, openSession } from '@interlock/runtime';
import { type Command, Option } from 'commander';
import { APPROVE_MODES, type ApproveMode } from '../approvals.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { type Connection, connect } from '../house-connection.ts';
import { chooseModel, DEFAULT_MODEL } from '../model-choice.ts';
import { callerDirectory } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { type Watched, watchRun } from '../watch-run.ts';

export interface RunFlags {
  readonly workspace?: string;
  readonly policy?: string;
  readonly approve?: ApproveMode;
  readonly print?: boolean;
  readonly session?: string;
  readonly maxTurns?: string;
  readonly maxTokens?: string;
  readonly maxCost?: string;
  readonly maxSeconds?: string;
}

export function registerRun(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('Give the model a task in a workspace and follow it to the answer.')
    .argument('<task>', 'what to do')
    .option('-p, --print', 'print the answer and nothing else')
    .option('--workspace <dir>', 'folder to work in (default: here)')
    .option('--policy <file>', 'rules of your own (YAML), as the user layer')
    .addOption(new Option('--approve <how>', 'answer asks: all, none, or ask').choices(APPROVE_MODES))
    .option('--session <id>', 'id of the new session (default: a new one)')
    .option('--max-turns <n>', 'turns of the model', '50')
    .option('--max-tokens <n>', 'tokens of all attempts together')
    .option('--max-cost <usd>', 'cost in US dollars')
    .option('--max-seconds <n>', 'wall time, waiting for people left out')
    .action(async (task: string, flags: RunFlags) => {
      context.exit(await run(context, task, flags));
    });
}

/** Runs a task; returns the exit code. */
export async function run(context: CommandContext, task: string, flags: RunFlags): Promise<ExitCode> {
  const { terminal, settings, json } = context;
  const workspace = checkWorkspace(flags.workspace);
  const modelName = settings.model.value ?? defaultModel();
  const connection = await connect(context, 'all');
  try {
    const session = await openSession(connection, {
      ...(flags.session === undefined ? {} : { session: flags.session }),
      workspace,
      mode: checkMode(settings.mode.value),
      model: await chooseModel(connection.bus, connection.tenant, modelName),
      budgets: budgetsOf(flags),
      policies: await uploadPolicies(connection, workspace, flags.policy),
    });
    if (!json && !flags.print) terminal.note(`session ${session.id}, ${modelName}, ${workspace}`);
    const message = await session.say(task);
    const watched = await watchRun(session, {
      terminal,
      json,
      quiet: flags.print === true,
      approve: flags.approve ?? 'ask',
      messageSeq: message.seq,
    });
    printEnd(terminal, watched, { json, quiet: flags.print === true });
    return watched.exitCode;
  } finally {
    await connection.close();
  }
}

function defaultModel(): string {
  if (process.env.ANTHROPIC_API_KEY) return `anthropic:${DEFAULT_MODEL}`;
  throw new CliError('usage', 'No model: set ANTHROPIC_API_KEY, or name one with --model scripted:FILE.');
}

function checkWorkspace(given: string | undefined): string {
  const workspace = resolve(callerDirectory(), given ?? '.');
  if (!existsSync(workspace) || !statSync(workspace).isDirectory()) {
    throw new CliError('workspace_invalid', `${workspace} is not a directory.`);
  }
  return workspace;
}

function checkMode(mode: string | undefined): Mode {
  const parsed = modeSchema.safeParse(mode ?? 'normal');
  if (!parsed.success)
    throw new CliError('usage', `There is no mode "${mode}": use ${modeSchema.options.join(', ')}.`);
  return parsed.data;
}

function budgetsOf(flags: RunFlags): Budgets {
  const number = (name: string, text: string | undefined): number | undefined => {
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0)
      throw new CliError('usage', `${name} needs a number above 0, not "${text}".`);
    return value;
  };
  const seconds = number('--max-seconds', flags.maxSeconds);
  const entries = Object.entries({
    maxTurns: number('--max-turns', flags.maxTurns),
    maxTokens: number('--max-tokens', flags.maxTokens),
    maxCostUsd: number('--max-cost', flags.maxCost),
    maxWallMs: seconds === undefined ? undefined : Math.round(seconds * 1000),
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

async function uploadPolicies(
  connection: Connection,
  workspace: string,
  userFile: string | undefined,
): Promise<{ user?: string; project?: string }> {
  const upload = async (file: string): Promise<string> => {
    const bytes = readPolicy(file);
    const artifact = await putArtifact(connection.bus, connection.tenant, bytes, {
      mediaType: 'application/yaml',
      name: file,
    });
    return artifact.uri.slice('artifact://'.length);
  };
  const project = join(workspace, '.interlock', 'policy.yaml');
  return {
    ...(userFile === undefined ? {} : { user: await upload(resolve(callerDirectory(), userFile)) }),
    ...(existsSync(project) ? { project: await upload(project) } : {}),
  };
}

function readPolicy(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliError('usage', `The policy file ${file} cannot be read.`, { cause: error });
  }
}

/** The result: as the last JSON line, or the answer on stdout and what it rests on beside it. */
export function printEnd(terminal: Terminal, watched: Watched, how: { json: boolean; quiet: boolean }): void {
  const { result, state } = watched;
  if (how.json) {
    terminal.out(JSON.stringify(result));
    return;
  }
  if (result.text) terminal.out(result.text);
  if (how.quiet) return;
  const run = state.run?.id ?? state.lastRun?.id ?? '';
  const { observations, byEnding } = groundsOf(state, run);
  const endings = Object.entries(byEnding).map(([ending, count]) => `${count} ${ending}`);
  const rests =
    observations === 0 ? 'no observation' : `${observations} recorded observations (${endings.join(', ')})`;
  terminal.note(terminal.paint('dim', `${result.status}; rests on ${rests}; session ${result.session}`));
  if (result.status === 'model_failed' && result.error)
    terminal.note(`${result.error.code}: ${result.error.message}`);
  if (result.status === 'waiting_for_approval') {
    terminal.note(`waits for approval: interlock approvals ls, then interlock attach ${result.session}`);
  }
  if (result.scriptUnused && result.scriptUnused.length > 0) {
    terminal.note(terminal.paint('dim', `turns of the script not used: ${result.scriptUnused.join(', ')}`));
  }
}
