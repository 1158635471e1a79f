import type { ConversationState } from '@interlock/contracts';
import { attachSession } from '@interlock/runtime';
import { type Command, Option } from 'commander';
import { APPROVE_MODES, type ApproveMode } from '../approvals.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { withConnection } from '../house-connection.ts';
import { checkSessionId } from '../session-id.ts';
import { watchRun } from '../watch-run.ts';
import { printEnd } from './run.ts';

export function registerAttach(program: Command, context: CommandContext): void {
  program
    .command('attach')
    .description('Follow a session that exists; with a message, say it first.')
    .argument('<session>')
    .argument('[message]', 'what to say')
    .addOption(new Option('--approve <how>', 'answer asks: all, none, or ask').choices(APPROVE_MODES))
    .action(async (id: string, message: string | undefined, flags: { approve?: ApproveMode }) => {
      checkSessionId(id);
      await withConnection(context, 'all', async (connection) => {
        const session = await attachSession(connection, id);
        const state = await session.getState();
        if (message !== undefined && state.closed)
          throw new CliError('session_closed', `The session "${id}" is closed.`);
        const said = message === undefined ? null : await session.say(message);
        const watched = await watchRun(session, {
          terminal: context.terminal,
          json: context.json,
          quiet: false,
          approve: flags.approve ?? 'ask',
          ...(said ? { messageSeq: said.seq, lastSeq: null } : placeIn(state)),
        });
        printEnd(context.terminal, watched, { json: context.json, quiet: false });
        context.exit(watched.exitCode);
      });
    });
}

/** Without a message: what is under way is followed to its end, a session at rest as far as it is now. */
function placeIn(state: ConversationState): { messageSeq: number; lastSeq: number | null } {
  if (state.run || state.pending.length > 0) return { messageSeq: state.throughSeq, lastSeq: null };
  return { messageSeq: (state.lastRun?.seq ?? 1) - 1, lastSeq: state.throughSeq };
}
