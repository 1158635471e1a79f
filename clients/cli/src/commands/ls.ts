import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { withConnection } from '../house-connection.ts';
import { wholeNumber } from '../numbers.ts';
import { query } from '../query.ts';
import { harmlessLine } from '../render/harmless.ts';

export function registerLs(program: Command, context: CommandContext): void {
  program
    .command('ls')
    .description('List sessions, newest first.')
    .option('--limit <n>', 'how many, at most 500', '50')
    .action(async (flags: { limit: string }) => {
      const limit = wholeNumber('--limit', flags.limit, { most: 500 });
      await withConnection(context, 'record', async (connection) => {
        const { sessions } = await query(connection, 'query.sessions', { limit });
        for (const session of sessions) {
          if (context.json) context.terminal.out(JSON.stringify(session));
          else {
            const { session: id, status, turns, lastAt, firstMessage } = session;
            const columns = [id.padEnd(22), status.padEnd(20), `${turns} turns`.padEnd(10), lastAt];
            context.terminal.out(`${columns.join(' ')} ${harmlessLine(firstMessage, 60)}`);
          }
        }
        if (sessions.length === 0 && !context.json) context.terminal.note('no sessions yet');
      });
      context.exit(EXIT.done);
    });
}
