import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { startHouse, type UnitLine } from '@interlock/deploy';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { logLevelOf, stateDirOf } from '../house-connection.ts';
import { wholeNumber } from '../numbers.ts';
import { callerDirectory } from '../settings.ts';
import { restartOnChange } from '../watch-sources.ts';

interface UpFlags {
  readonly processes?: boolean;
  readonly watch?: boolean;
  readonly workspace?: string;
  readonly port?: string;
}

export function registerUp(program: Command, context: CommandContext): void {
  program
    .command('up')
    .description('Run the whole house until interrupted: nats-server and every service.')
    .option('--processes', 'each service as its own process')
    .option('--watch', 'as --processes, and restart a service when its sources change')
    .option('--workspace <dir>', 'folder that workspaces must be in (default: anywhere)')
    .option('--port <n>', "client port of the house's nats-server (default: a free one)")
    .action(async (flags: UpFlags) => {
      await up(context, flags);
      context.exit(EXIT.done);
    });
}

async function up({ terminal, settings, json }: CommandContext, flags: UpFlags): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  // Told only once the whole house is up: who reads a line may count on what it says.
  const lines = new HeldLines((line) => {
    if (json) terminal.out(JSON.stringify(line));
    else terminal.note(`${line.service.padEnd(18)} pid ${String(line.pid).padEnd(8)} ${line.health}`);
  });
  const house = await startHouse({
    stateDir: stateDirOf(settings),
    mode: flags.processes || flags.watch ? 'processes' : 'in-process',
    person: settings.person.value,
    workspace: callerDirectory(),
    workspaceRoots: flags.workspace === undefined ? undefined : [workspaceOf(flags.workspace)],
    logLevel: logLevelOf(settings),
    natsUrl: settings.natsUrl.value,
    natsPort: wholeNumber('--port', flags.port, { most: 65_535 }),
    onLine: (line) => lines.push(line),
  });
  lines.release();
  if (!json) {
    terminal.note(`ready: ${house.connection.url}; record, keys and logs in ${house.connection.stateDir}`);
    terminal.note('stop it with Ctrl-C; in another terminal: interlock run "<task>"');
  }
  const watching = flags.watch ? restartOnChange(house, (text) => terminal.note(text)) : null;
  await interrupted;
  watching?.close();
  if (!json) terminal.note('stopping');
  await house.stop();
}

function workspaceOf(given: string): string {
  const workspace = resolve(callerDirectory(), given);
  if (!existsSync(workspace) || !statSync(workspace).isDirectory())
    throw new CliError('workspace_invalid', `${workspace} is not a directory.`);
  return workspace;
}

/** Keeps lines until they are released, and passes on what comes later. */
class HeldLines {
  readonly #print: (line: UnitLine) => void;
  #held: UnitLine[] | null = [];

  constructor(print: (line: UnitLine) => void) {
    this.#print = print;
  }

  push(line: UnitLine): void {
    if (this.#held) this.#held.push(line);
    else this.#print(line);
  }

  release(): void {
    for (const line of this.#held ?? []) this.#print(line);
    this.#held = null;
  }
}
