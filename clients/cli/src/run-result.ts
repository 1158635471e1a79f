/** What `run` ends with: the last line of `--json`, and the exit code. Pure. */
import type { ConversationState, LogEntry, RunFinishedV1 } from '@interlock/contracts';
import { finalText } from '@interlock/runtime';
import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';

export const runResultSchema = z.object({
  type: z.literal('result'),
  /** A reason of `run.finished`, or `waiting_for_approval`. */
  status: z.string(),
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
  /** Category and message of the model's failure, where it failed. */
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Scripted model only: indices of turns that were not used. */
  scriptUnused: z.array(z.int()).nullable(),
});
export type RunResult = z.infer<typeof runResultSchema>;

/** Keeps what the result needs while events go by. */
export class ResultOf {
  #finished: RunFinishedV1 | null = null;
  #lastEnding: { kind: string; byRule: boolean } | null = null;
  #indeterminate = false;

  take(entry: LogEntry): void {
    if (entry.type === 'run.finished') this.#finished = entry.data;
    if (entry.type === 'tool.approval.denied')
      this.#lastEnding = { kind: 'denied', byRule: entry.data.kind === 'rule' };
    if (entry.type === 'tool.observation') {
      if (entry.data.ending === 'indeterminate') this.#indeterminate = true;
      if (entry.data.ending !== 'denied') this.#lastEnding = { kind: entry.data.ending, byRule: false };
    }
  }

  result(state: ConversationState): RunResult {
    const waiting = state.status === 'waiting_for_approval';
    const status = waiting ? 'waiting_for_approval' : (this.#finished?.reason ?? state.status);
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
      error: state.lastError && { code: state.lastError.code, message: state.lastError.message },
      scriptUnused: state.scriptUnused === null ? null : [...state.scriptUnused],
    };
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
      case 'budget':
      case 'max_turns':
      case 'length':
      case 'context_window':
        return EXIT.limit;
      case 'model_failed':
        return result.error?.code === 'auth' || result.error?.code === 'permission'
          ? EXIT.authentication
          : EXIT.error;
      default:
        return EXIT.error;
    }
  }
}
