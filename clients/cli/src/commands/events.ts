import { attachSession } from '@interlock/runtime';
import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { withConnection } from '../house-connection.ts';
import { wholeNumber } from '../numbers.ts';
import { harmless } from '../render/harmless.ts';
import { checkSessionId } from '../session-id.ts';

export function registerEvents(program: Command, context: CommandContext): void {
  program
    .command('events')
    .description('Print the stored events of a session in stream order.')
    .argument('<session>')
    .option('-f, --follow', 'go on until interrupted')
    .option('--from <seq>', 'first stream sequence', '0')
    .action(async (id: string, flags: { follow?: boolean; from: string }) => {
      checkSessionId(id);
      const fromSeq = wholeNumber('--from', flags.from, { least: 0 }) ?? 0;
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      await withConnection(context, 'record', async (connection) => {
        const session = await attachSession(connection, id);
        const follow = flags.follow === true;
        for await (const { seq, event, entry } of session.getEvents({
          fromSeq,
          follow,
          signal: stop.signal,
        })) {
          if (context.json) context.terminal.out(JSON.stringify({ ...event, seq }));
          else
            context.terminal.out(
              harmless(
                `${String(seq).padStart(7)} ${String(event.time ?? '-')} ${entry.type.padEnd(26)} ${String(event.intent ?? '')}`,
              ),
            );
        }
      });
      context.exit(stop.signal.aborted ? EXIT.interrupted : EXIT.done);
    });
}
