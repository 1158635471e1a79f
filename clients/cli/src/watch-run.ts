/** Follows a session until a message is answered, printing events (`--json`) or progress, and answering asks on the way. */
import type { ConversationState } from '@interlock/contracts';
import type { Session } from '@interlock/runtime';
import { ApprovalDesk, type ApproveMode } from './approvals.ts';
import type { ExitCode } from './exit-codes.ts';
import { cancelOnInterrupt } from './interrupt.ts';
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
  /** Sequence of the message whose answer ends it, and whose runs the result is of. */
  readonly messageSeq: number;
  /** For a session at rest: the sequence to end at. */
  readonly lastSeq: number | null;
}

export interface Watched {
  readonly result: RunResult;
  readonly exitCode: ExitCode;
  readonly state: ConversationState;
}

export async function watchRun(session: Session, options: WatchOptions): Promise<Watched> {
  const { terminal, json, quiet, messageSeq, lastSeq } = options;
  const progress = quiet || json ? null : new Progress(terminal);
  const summary = new ResultOf(messageSeq);
  const interrupt = cancelOnInterrupt(session, terminal);
  const desk = createDesk(session, options, progress, interrupt.fire);
  const beginning = await session.getState();
  let state = beginning;
  try {
    const items = session.follow({
      live: progress !== null,
      fromStart: true,
      ...(lastSeq === null ? { untilAnswered: messageSeq } : {}),
    });
    for await (const item of items) {
      if ('type' in item) {
        progress?.show(item);
        continue;
      }
      state = item.state;
      summary.take(item.entry);
      if (json) terminal.out(JSON.stringify({ ...item.event, seq: item.seq }));
      for (const output of item.outputs) {
        if (output.type === 'approval.asked') desk.note(output);
        progress?.show(output);
      }
      if (lastSeq !== null && item.seq >= lastSeq) break;
      // What lies behind is not asked about again.
      if (item.seq >= beginning.throughSeq && !(await desk.attend(state))) break;
    }
  } finally {
    await desk.close();
    interrupt.release();
    progress?.settle();
  }
  const result = summary.result(state);
  return { result, exitCode: summary.exitCode(result), state };
}

function createDesk(
  session: Session,
  { terminal, approve }: WatchOptions,
  progress: { hold(): void; resume(): void } | null,
  onInterrupt: () => void,
): ApprovalDesk {
  return new ApprovalDesk({
    session,
    mode: approve,
    terminal,
    onPrompt: (isOpen) => (isOpen ? progress?.hold() : progress?.resume()),
    onInterrupt,
    onFailure: (error) => terminal.note(`the answer is not stored: ${String(error)}`),
  });
}
