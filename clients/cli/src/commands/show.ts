import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { withConnection } from '../house-connection.ts';
import { query } from '../query.ts';

export function registerShow(program: Command, context: CommandContext): void {
  program
    .command('show')
    .description('Print the state of a session as the log says it, now or at a sequence.')
    .argument('<session>')
    .option('--at <seq>', 'as it was when everything up to this stream sequence was stored')
    .action(async (session: string, flags: { at?: string }) => {
      const at = flags.at === undefined ? undefined : sequenceOf(flags.at);
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

function sequenceOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw new CliError('usage', `--at needs a sequence, not "${text}".`);
  return value;
}
