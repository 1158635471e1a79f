import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Budgets, type Mode, modeSchema } from '@interlock/contracts';
import { groundsOf, openSession } from '@interlock/runtime';
import { type Command, Option } from 'commander';
import { APPROVE_MODES, type ApproveMode } from '../approvals.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { connect } from '../house-connection.ts';
import { checkModel, DEFAULT_MODEL, storeModel } from '../model-choice.ts';
import { milliseconds, positive, wholeNumber } from '../numbers.ts';
import { readPolicies, storePolicies } from '../policy-files.ts';
import { harmless } from '../render/harmless.ts';
import { checkSessionId } from '../session-id.ts';
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

/** Runs a task; returns the exit code. What can be refused without a house is refused before one is looked for. */
export async function run(context: CommandContext, task: string, flags: RunFlags): Promise<ExitCode> {
  const { terminal, settings, json } = context;
  if (flags.session !== undefined) checkSessionId(flags.session);
  const workspace = checkWorkspace(flags.workspace);
  const modelName = settings.model.value ?? defaultModel();
  const model = checkModel(modelName);
  const mode = checkMode(settings.mode.value);
  const budgets = budgetsOf(flags);
  const policies = await readPolicies(workspace, flags.policy);
  const quiet = flags.print === true;
  const connection = await connect(context, 'all');
  try {
    const session = await openSession(connection, {
      ...(flags.session === undefined ? {} : { session: flags.session }),
      workspace,
      mode,
      model: await storeModel(connection.bus, connection.tenant, model),
      budgets,
      policies: await storePolicies(connection, policies),
    });
    if (!json && !quiet) terminal.note(`session ${session.id}, ${modelName}, ${workspace}`);
    const { seq } = await session.say(task);
    const approve = flags.approve ?? 'ask';
    const watched = await watchRun(session, {
      terminal,
      json,
      quiet,
      approve,
      messageSeq: seq,
      lastSeq: null,
    });
    printEnd(terminal, watched, { json, quiet });
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
  const { maxTurns, maxTokens, maxCost, maxSeconds } = flags;
  const given = Object.entries({
    maxTurns: wholeNumber('--max-turns', maxTurns),
    maxTokens: wholeNumber('--max-tokens', maxTokens),
    maxCostUsd: positive('--max-cost', maxCost),
    maxWallMs: milliseconds('--max-seconds', maxSeconds),
  });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** The result: as the last JSON line, or the answer on stdout and what it rests on beside it. */
export function printEnd(terminal: Terminal, watched: Watched, how: { json: boolean; quiet: boolean }): void {
  const { result, state } = watched;
  if (how.json) {
    terminal.out(JSON.stringify(result));
    return;
  }
  if (result.text) terminal.out(harmless(result.text));
  if (how.quiet) return;
  const run = state.run?.id ?? state.lastRun?.id ?? '';
  const { observations, byEnding } = groundsOf(state, run);
  const endings = Object.entries(byEnding).map(([ending, count]) => `${count} ${ending}`);
  const rests =
    observations === 0
      ? 'no observation'
      : `${observations} recorded observation${observations === 1 ? '' : 's'} (${endings.join(', ')})`;
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
