/** Follows a session until a message is answered, printing events (`--json`) or progress, and answering asks on the way. */
import type { ConversationState } from '@interlock/contracts';
import type { Session, Step } from '@interlock/runtime';
import { type ApproveMode, type Ask, answerAsk } from './approvals.ts';
import type { ExitCode } from './exit-codes.ts';
import { Progress } from './render/progress.ts';
import { ResultOf, type RunResult } from './run-result.ts';
import type { Terminal } from './terminal.ts';

export interface WatchOptions {
  readonly terminal: Terminal;
  /** Print each stored event as one JSON line instead of progress. */
  readonly json: boolean;
  /** Print nothing but the answer. */
  readonly quiet: boolean;
  readonly approve: ApproveMode;
  /** Sequence of the message whose answer ends it. */
  readonly messageSeq: number;
}

export interface Watched {
  readonly result: RunResult;
  readonly exitCode: ExitCode;
  readonly state: ConversationState;
}

export async function watchRun(session: Session, options: WatchOptions): Promise<Watched> {
  const { terminal, json, quiet } = options;
  const progress = quiet || json ? null : new Progress(terminal);
  const summary = new ResultOf();
  const release = cancelOnInterrupt(session, terminal);
  let state = await session.getState();
  const unanswered = new Set<string>();
  try {
    for await (const item of session.follow({
      live: progress !== null,
      untilAnswered: options.messageSeq,
      fromStart: true,
    })) {
      if ('type' in item) {
        progress?.show(item);
        continue;
      }
      state = item.state;
      summary.take(item.entry);
      if (json) terminal.out(JSON.stringify({ ...item.event, seq: item.seq }));
      for (const output of item.outputs) progress?.show(output);
      await answerNewAsks(session, item, options, { progress, unanswered });
      if (state.status === 'waiting_for_approval' && unanswered.size > 0) break;
    }
  } finally {
    release();
    progress?.settle();
  }
  const result = summary.result(state);
  return { result, exitCode: summary.exitCode(result), state };
}

async function answerNewAsks(
  session: Session,
  step: Step,
  options: WatchOptions,
  shown: { progress: Progress | null; unanswered: Set<string> },
): Promise<void> {
  const asks = step.outputs.filter((output): output is Ask => output.type === 'approval.asked');
  for (const ask of asks) {
    if (step.state.calls[ask.intent]?.asked?.answer) continue;
    shown.progress?.settle();
    if (!(await answerAsk(session, ask, options.approve, options.terminal)))
      shown.unanswered.add(ask.askedId);
  }
}

/** The first interrupt cancels the run and waits for its honest end; the second one leaves at once. */
function cancelOnInterrupt(session: Session, terminal: Terminal): () => void {
  let asked = false;
  const onSignal = (): void => {
    if (asked) process.exit(130);
    asked = true;
    terminal.note('cancelling; press Ctrl-C again to leave at once');
    session.cancel().catch((error: unknown) => terminal.note(String(error)));
  };
  process.on('SIGINT', onSignal);
  return () => void process.off('SIGINT', onSignal);
}
