import { startHouse } from '@interlock/deploy';
import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { logLevelOf, stateDirOf } from '../house-connection.ts';
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
    .option('--workspace <dir>', 'folder the executors work in (default: here)')
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
  const house = await startHouse({
    stateDir: stateDirOf(settings),
    mode: flags.processes || flags.watch ? 'processes' : 'in-process',
    person: settings.person.value ?? 'person',
    workspace: flags.workspace ?? callerDirectory(),
    logLevel: logLevelOf(settings),
    ...(settings.natsUrl.value === undefined ? {} : { natsUrl: settings.natsUrl.value }),
    ...(flags.port === undefined ? {} : { natsPort: Number(flags.port) }),
    onLine: (line) => {
      if (json) terminal.out(JSON.stringify(line));
      else terminal.note(`${line.service.padEnd(18)} pid ${String(line.pid).padEnd(8)} ${line.health}`);
    },
  });
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
