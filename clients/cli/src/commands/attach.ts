import { attachSession } from '@interlock/runtime';
import { type Command, Option } from 'commander';
import { APPROVE_MODES, type ApproveMode } from '../approvals.ts';
import type { CommandContext } from '../command-context.ts';
import { connect } from '../house-connection.ts';
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
      const connection = await connect(context, 'all');
      try {
        const session = await attachSession(connection, id);
        const state = await session.getState();
        const said = message === undefined ? undefined : await session.say(message);
        // Without a message: follow what is under way; a session at rest has been answered already.
        const messageSeq = said?.seq ?? (state.run || state.pending.length > 0 ? state.throughSeq : 0);
        const watched = await watchRun(session, {
          terminal: context.terminal,
          json: context.json,
          quiet: false,
          approve: flags.approve ?? 'ask',
          messageSeq,
        });
        printEnd(context.terminal, watched, { json: context.json, quiet: false });
        context.exit(watched.exitCode);
      } finally {
        await connection.close();
      }
    });
}
