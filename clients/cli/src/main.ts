import { Command, CommanderError } from 'commander';
import { CliError, exitCodeOf } from './cli-error.ts';
import type { CommandContext } from './command-context.ts';
import { registerApprovals } from './commands/approvals.ts';
import { registerAttach } from './commands/attach.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerEvents } from './commands/events.ts';
import { registerLs } from './commands/ls.ts';
import { registerRun } from './commands/run.ts';
import { registerShow } from './commands/show.ts';
import { registerUp } from './commands/up.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { loadSettings, type SettingName } from './settings.ts';
import { createTerminal } from './terminal.ts';

const GLOBAL_OPTIONS: readonly [flags: string, description: string][] = [
  ['--json', 'machine-readable output: one JSON value a line'],
  ['--nats-url <url>', 'a house that runs already'],
  ['--state-dir <dir>', 'where a house of your own keeps its log and keys'],
  ['--tenant <id>', 'whose sessions'],
  ['--person <id>', 'who speaks and answers'],
  ['--model <name>', 'scripted:FILE, anthropic:MODEL, or a model of Anthropic'],
  ['--mode <mode>', 'normal, auto-edit, read-only'],
  ['--log-level <level>', "level of the services' logs: debug, info, warn, error"],
];

await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<void> {
  const json = argv.includes('--json');
  const terminal = createTerminal({ json });
  try {
    const code = await dispatch(argv, json);
    process.exitCode = code;
  } catch (error) {
    process.exitCode = report(error, json, terminal);
  }
}

async function dispatch(argv: readonly string[], json: boolean): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  const program = new Command('interlock')
    .description(
      'An agent harness for platform teams: a model proposes; the system validates, decides, executes, observes.',
    )
    .exitOverride()
    .showHelpAfterError('(see --help)');
  // Flags are the same on every command, before or after its name.
  const { flags, rest } = takeGlobals(argv);
  const context: CommandContext = {
    terminal: createTerminal({ json }),
    settings: loadSettings(flags),
    json,
    exit: (value) => {
      code = value;
    },
  };
  for (const [option, description] of GLOBAL_OPTIONS) program.option(option, description);
  for (const register of [
    registerRun,
    registerAttach,
    registerUp,
    registerLs,
    registerShow,
    registerEvents,
    registerApprovals,
    registerDoctor,
    registerDemo,
  ]) {
    register(program, context);
  }
  await program.parseAsync([...rest], { from: 'user' });
  return code;
}

/** Lifts the global flags out of the arguments, wherever they stand before `--`. */
function takeGlobals(argv: readonly string[]): {
  flags: Partial<Record<SettingName, string>>;
  rest: readonly string[];
} {
  const flags: Partial<Record<SettingName, string>> = {};
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (argument === '--') return { flags, rest: [...rest, ...argv.slice(index)] };
    const name = argument.startsWith('--') ? argument.slice(2).replace(/=.*$/, '') : '';
    const setting = settingOf(name);
    if (name === 'json') continue;
    if (!setting) rest.push(argument);
    else if (argument.includes('=')) flags[setting] = argument.slice(argument.indexOf('=') + 1);
    else {
      index += 1;
      const value = argv[index];
      if (value === undefined) throw new CliError('usage', `--${name} needs a value.`);
      flags[setting] = value;
    }
  }
  return { flags, rest };
}

function settingOf(flag: string): SettingName | undefined {
  const known: Record<string, SettingName> = {
    'nats-url': 'natsUrl',
    'state-dir': 'stateDir',
    tenant: 'tenant',
    person: 'person',
    model: 'model',
    mode: 'mode',
    'log-level': 'logLevel',
  };
  return known[flag];
}

function report(error: unknown, json: boolean, terminal: ReturnType<typeof createTerminal>): ExitCode {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (json) terminal.out(JSON.stringify({ type: 'error', code, message }));
  else terminal.note(`interlock: ${message} (${code})`);
  if (code === 'internal' && error instanceof Error && error.stack) terminal.note(error.stack);
  return error instanceof CliError ? error.exitCode : exitCodeOf(code);
}

function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return 'internal';
}
