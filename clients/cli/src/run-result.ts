/** What `run` ends with: the last line of `--json`, and the exit code. Pure. */
import {
  type ConversationState,
  finishReasonSchema,
  type LogEntry,
  type RunFinishedV1,
} from '@interlock/contracts';
import { finalText } from '@interlock/runtime';
import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';

export const runResultSchema = z.object({
  type: z.literal('result'),
  /** A reason of `run.finished`; `waiting_for_approval`; `idle`: nobody has said anything yet; `running`: left before its end. */
  status: z.enum([...finishReasonSchema.options, 'waiting_for_approval', 'idle', 'running']),
  /** The model's last words. */
  text: z.string(),
  session: z.string(),
  usage: z.object({
    inputUncached: z.int(),
    cacheRead: z.int(),
    cacheWrite: z.int(),
    output: z.int(),
    reasoning: z.int().nullable(),
    costUsd: z.number().nullable(),
    turns: z.int(),
  }),
  /** Category and message of the model's failure, where that ended the run. */
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Scripted model only: indices of turns that were not used. */
  scriptUnused: z.array(z.int()).nullable(),
});
export type RunResult = z.infer<typeof runResultSchema>;

/** Keeps what the result needs while events go by, of the runs that answer the message stored at `messageSeq`. */
export class ResultOf {
  readonly #messageSeq: number;
  #finished: RunFinishedV1 | null = null;
  #lastEnding: { readonly ending: string; readonly byRule: boolean } | null = null;
  #indeterminate = false;

  constructor(messageSeq: number) {
    this.#messageSeq = messageSeq;
  }

  take(entry: LogEntry): void {
    if (entry.type === 'run.started' && entry.seq <= this.#messageSeq) this.#forget();
    if (entry.type === 'run.finished') this.#finished = entry.data;
    if (entry.type === 'tool.observation') {
      const { ending, code } = entry.data;
      if (ending === 'indeterminate') this.#indeterminate = true;
      this.#lastEnding = { ending, byRule: code === 'rule_denied' };
    }
  }

  /** What an earlier run came to is not what this command came to. */
  #forget(): void {
    this.#finished = null;
    this.#lastEnding = null;
    this.#indeterminate = false;
  }

  result(state: ConversationState): RunResult {
    const status = this.#statusOf(state);
    const usage = this.#finished?.usage ?? state.run?.usage ?? state.usage;
    return {
      type: 'result',
      status,
      text: finalText(state),
      session: state.session,
      usage: {
        ...usage,
        costUsd: this.#finished?.costUsd ?? state.costUsd,
        turns: this.#finished?.turns ?? state.run?.turn ?? 0,
      },
      error:
        status === 'model_failed' && state.lastError
          ? { code: state.lastError.code, message: state.lastError.message }
          : null,
      scriptUnused: state.scriptUnused === null ? null : [...state.scriptUnused],
    };
  }

  #statusOf(state: ConversationState): RunResult['status'] {
    if (state.status === 'waiting_for_approval') return 'waiting_for_approval';
    if (this.#finished) return this.#finished.reason;
    return state.run || state.pending.length > 0 ? 'running' : 'idle';
  }

  /** 0 when completed, unless the outcome of a call is unknown (7) or a rule denied the last call (3). */
  exitCode(result: RunResult): ExitCode {
    switch (result.status) {
      case 'completed':
        if (this.#indeterminate) return EXIT.indeterminate;
        return this.#lastEnding?.byRule ? EXIT.denied : EXIT.done;
      case 'waiting_for_approval':
        return EXIT.waiting;
      case 'cancelled':
        return EXIT.interrupted;
      case 'idle':
        return EXIT.done;
      case 'budget':
      case 'max_turns':
      case 'length':
      case 'context_window':
        return EXIT.limit;
      case 'model_failed':
        return result.error?.code === 'auth' || result.error?.code === 'permission'
          ? EXIT.authentication
          : EXIT.error;
      case 'refused':
      case 'running':
        return EXIT.error;
    }
  }
}
