import type { CallState, ConversationState, FinishReason, Stage } from '@interlock/contracts';

/** Why a run is to end before it is done. */
export interface Stopping {
  readonly reason: Extract<FinishReason, 'cancelled' | 'budget'>;
  readonly detail: string;
  /**
   * Messages of people up to here are taken back with the run; later ones start the next run.
   * Null: none is, because nobody took them back. Infinity: all are, because no run may start again.
   */
  readonly takesBackThrough: number | null;
}

/** What stops the run under way; null when nothing does, or no run is under way. */
export function stoppingOf(state: ConversationState): Stopping | null {
  const { run } = state;
  if (!run) return null;
  if (state.closed) {
    return {
      reason: 'cancelled',
      detail: 'the session was closed',
      takesBackThrough: Number.POSITIVE_INFINITY,
    };
  }
  if (!run.cancel) return null;
  return run.cancel.reason === 'budget'
    ? { reason: 'budget', detail: 'the wall time of the run is used up', takesBackThrough: null }
    : { reason: 'cancelled', detail: `cancelled by ${run.cancel.by}`, takesBackThrough: run.cancel.seq };
}

const UNCLAIMED: ReadonlySet<Stage> = new Set(['declared', 'proposed', 'validated', 'asked', 'allowed']);
const ENDED: ReadonlySet<Stage> = new Set(['invalid', 'denied', 'cancelled', 'completed']);

/** Nothing has touched the world yet for this call, and nothing may until it is claimed. */
export function isUnclaimed(call: CallState): boolean {
  return UNCLAIMED.has(call.stage);
}

/** The call has its end and lacks only its observation. */
export function isEnded(call: CallState): boolean {
  return ENDED.has(call.stage);
}
