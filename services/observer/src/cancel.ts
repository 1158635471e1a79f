/**
 * What stopping a run takes: which calls are withdrawn, who is told to stop, and whether there is anything to wait for.
 *
 * X1. A call is withdrawn only while nobody has claimed it; a claimed one ends with its holder's fact, or with the
 *     watch when the holder is gone.
 * X2. `ctl` is lossy, so the plan is made again and sent again until the run is finished.
 */
import { type CancelControlV1, type ConversationState, openCalls } from '@interlock/contracts';
import { isUnclaimed, stoppingOf } from './stopping.ts';

export interface StopPlan {
  /** Unclaimed calls: `tool.cancelled`. */
  readonly withdraw: readonly string[];
  /** Whom to tell; null when nobody runs anything. */
  readonly control: CancelControlV1 | null;
}

/** The plan for the run under way; null when nothing stops it. */
export function planStop(state: ConversationState): StopPlan | null {
  const stopping = stoppingOf(state);
  if (!stopping) return null;
  const open = openCalls(state);
  const withdraw = open.filter(isUnclaimed).map((call) => call.intent);
  const intents = open.filter((call) => call.stage === 'started').map((call) => call.intent);
  const { request } = state;
  if (intents.length === 0 && !request) return { withdraw, control: null };
  const control = { intents, ...(request ? { requestId: request.id } : {}), reason: stopping.detail };
  return { withdraw, control };
}

/**
 * True when a gateway was told to stop and did not within `limitMs`: the observer goes on without it. At least one
 * delivery of the cancel has come before, so that it was told at all.
 */
export function gaveUpOn(
  state: ConversationState,
  cancel: { readonly ageMs: number; readonly redeliveries: number },
  limitMs: number,
): string | undefined {
  return cancel.redeliveries > 0 && cancel.ageMs >= limitMs ? state.request?.id : undefined;
}
