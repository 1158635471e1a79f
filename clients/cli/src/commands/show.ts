import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { withConnection } from '../house-connection.ts';
import { wholeNumber } from '../numbers.ts';
import { query } from '../query.ts';
import { checkSessionId } from '../session-id.ts';

export function registerShow(program: Command, context: CommandContext): void {
  program
    .command('show')
    .description('Print the state of a session as the log says it, now or at a sequence.')
    .argument('<session>')
    .option('--at <seq>', 'as it was when everything up to this stream sequence was stored')
    .action(async (session: string, flags: { at?: string }) => {
      checkSessionId(session);
      const at = wholeNumber('--at', flags.at, { least: 0 });
      await withConnection(context, 'record', async (connection) => {
        const reply = await query(connection, 'query.state', {
          session,
          ...(at === undefined ? {} : { at }),
        });
        // The state is printed as the fold gives it: equal logs print equal bytes.
        context.terminal.out(JSON.stringify(reply.state, null, context.json ? 0 : 2));
      });
      context.exit(EXIT.done);
    });
}
