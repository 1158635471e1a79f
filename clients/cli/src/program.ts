/** The command line: what commands there are, and how each ends. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
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
import { GLOBAL_FLAGS, takeGlobals } from './global-flags.ts';
import { reportError } from './report-error.ts';
import { loadSettings } from './settings.ts';
import { createTerminal } from './terminal.ts';

const COMMANDS = [
  registerUp,
  registerRun,
  registerAttach,
  registerLs,
  registerShow,
  registerEvents,
  registerApprovals,
  registerDoctor,
  registerDemo,
];

/** `run` never rejects: whatever happens becomes output and an exit code. */
export function createProgram(): { run(argv: readonly string[]): Promise<ExitCode> } {
  return {
    async run(argv) {
      const json = wantsJson(argv);
      const terminal = createTerminal({ json });
      try {
        return await dispatch(argv, terminal, json);
      } catch (error) {
        return reportError(error, json, terminal);
      }
    },
  };
}

async function dispatch(
  argv: readonly string[],
  terminal: CommandContext['terminal'],
  json: boolean,
): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  // The flags of every command may stand before its name or behind it.
  const { flags, rest } = takeGlobals(argv);
  const context: CommandContext = {
    terminal,
    settings: loadSettings(flags),
    json,
    exit: (value) => {
      code = value;
    },
  };
  const program = new Command('interlock')
    .description(
      'An agent harness for platform teams: a model proposes; the system validates, decides, executes, observes.',
    )
    .version(versionOf(), '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    // What is wrong is reported as every other error is.
    .configureOutput({ outputError: () => undefined });
  for (const { flags: spelling, description } of GLOBAL_FLAGS) program.option(spelling, description);
  for (const register of COMMANDS) register(program, context);
  try {
    await program.parseAsync([...rest], { from: 'user' });
  } catch (error) {
    // Help and version have been printed.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    throw error;
  }
  return code;
}

/** Known before the arguments are: an error in them is told in the same form. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).includes('--json');
}

function versionOf(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : null;
  return typeof version === 'string' ? version : '0.0.0-checkout';
}
