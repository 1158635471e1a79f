import type { PendingApproval } from '@interlock/contracts';
import { type Answer, attachSession } from '@interlock/runtime';
import { type Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../exit-codes.ts';
import { type Connection, withConnection } from '../house-connection.ts';
import { query } from '../query.ts';
import { harmless } from '../render/harmless.ts';

export function registerApprovals(program: Command, context: CommandContext): void {
  const approvals = program
    .command('approvals')
    .description('See and answer the calls that wait for a person.')
    .action(() => {
      throw new CliError('usage', 'approvals needs one of ls, show, approve, deny, edit.');
    });
  approvals
    .command('ls')
    .description('List them.')
    .action(async () => {
      await withConnection(context, 'record', async (connection) => {
        const pending = await list(connection);
        for (const item of pending) {
          if (context.json) context.terminal.out(JSON.stringify(item));
          else
            context.terminal.out(
              `${item.intent} ${item.session} ${item.tool.padEnd(12)} until ${item.expiresAt}  ${harmless(item.title)}`,
            );
        }
        if (pending.length === 0 && !context.json) context.terminal.note('nothing waits for a person');
      });
      context.exit(EXIT.done);
    });
  approvals
    .command('show')
    .description('Show one in full.')
    .argument('<intent>')
    .action(async (intent: string) => {
      await withConnection(context, 'record', async (connection) => {
        const item = await find(connection, intent);
        if (context.json) context.terminal.out(JSON.stringify(item));
        else
          context.terminal.out(
            [item.title, item.detail, item.preview ?? '', `effects: ${item.effects.join(', ')}`]
              .map(harmless)
              .join('\n'),
          );
      });
      context.exit(EXIT.done);
    });
  registerAnswers(approvals, context);
}

function registerAnswers(approvals: Command, context: CommandContext): void {
  const send = async (intent: string, answer: Answer): Promise<void> => {
    // The answer is said when it is stored; services that are not there now act on it when they are.
    await withConnection(context, 'record', async (connection) => {
      requireKey(connection);
      const item = await find(connection, intent);
      const session = await attachSession(connection, item.session);
      await session.answer(item, answer);
      const told = { intent, session: item.session, verdict: answer.verdict };
      if (context.json) context.terminal.out(JSON.stringify(told));
      else
        context.terminal.note(
          `${answer.verdict} is recorded; follow it with: interlock attach ${item.session}`,
        );
    });
    context.exit(EXIT.done);
  };
  approvals
    .command('approve')
    .description('Let it run.')
    .argument('<intent>')
    .addOption(
      new Option('--scope <scope>', 'how far it goes')
        .choices(['once', 'session', 'project'])
        .default('once'),
    )
    .option('--comment <text>')
    .action(async (intent: string, flags: { scope: 'once' | 'session' | 'project'; comment?: string }) => {
      await send(intent, { verdict: 'approve', ...flags });
    });
  approvals
    .command('deny')
    .description('Reject it; the model is told.')
    .argument('<intent>')
    .option('--comment <text>')
    .action(async (intent: string, flags: { comment?: string }) => {
      await send(intent, { verdict: 'reject', ...flags });
    });
  approvals
    .command('edit')
    .description('Put another input in its place; the edited call goes through all gates again.')
    .argument('<intent>')
    .requiredOption('--input <json>', 'the new input')
    .option('--comment <text>')
    .action(async (intent: string, flags: { input: string; comment?: string }) => {
      const { input, ...rest } = flags;
      await send(intent, { verdict: 'edit', input: parseInput(input), ...rest });
    });
}

/** An answer counts only with the person's signature. */
function requireKey({ writer, person, stateDir }: Connection): void {
  if (writer.signer) return;
  throw new CliError('answer_refused', `There is no key of "${person}" in ${stateDir}.`, {
    exitCode: EXIT.authentication,
  });
}

function parseInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new CliError('usage', '--input is not JSON.', { cause: error });
  }
}

async function list(connection: Connection): Promise<readonly PendingApproval[]> {
  return (await query(connection, 'query.approvals', {})).approvals;
}

async function find(connection: Connection, intent: string): Promise<PendingApproval> {
  const item = (await list(connection)).find((pending) => pending.intent === intent);
  if (!item) throw new CliError('answer_refused', `No call "${intent}" waits for a person.`);
  return item;
}
