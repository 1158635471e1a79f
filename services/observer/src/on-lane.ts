/** Appending to an intent's lane: decide on the fold, append by comparison, on a conflict fold and decide again. */
import {
  type CallState,
  type ConversationState,
  callOf,
  type ToolCancelledV1,
  type ToolExecutionCompletedV1,
  type ToolObservationV1,
} from '@interlock/contracts';
import { type AnyDraft, RetryableError } from '@interlock/kit';
import type { Cause, Ports, SessionRef } from './ports.ts';

/** How often a lane is decided upon anew before the delivery is left for later. */
const ROUNDS = 50;

export type LaneStepDraft =
  | { readonly type: 'tool.cancelled'; readonly data: ToolCancelledV1 }
  | { readonly type: 'tool.observation'; readonly data: ToolObservationV1 }
  | {
      readonly type: 'tool.execution.completed';
      readonly data: ToolExecutionCompletedV1;
      readonly pool: string;
    };

export interface LaneDecision {
  readonly intent: string;
  /** The fold to decide on first. */
  readonly state: ConversationState;
  readonly cause: Cause;
  /** The event that is due; null when none is, or no longer. Called again after each conflict. */
  readonly decide: (call: CallState, state: ConversationState) => LaneStepDraft | null;
}

/**
 * Appends what is due on the lane of a call.
 * @returns whether it was appended; false when nothing is due, or the session has no such call
 * @throws RetryableError `lane_conflict` when others keep winning, and what reading and appending throw
 */
export async function appendOnLane(ports: Ports, ref: SessionRef, decision: LaneDecision): Promise<boolean> {
  const { intent, cause, decide } = decision;
  let { state } = decision;
  for (let round = 0; round < ROUNDS; round++) {
    const call = callOf(state, intent);
    const due = call && decide(call, state);
    if (!due) return false;
    const { type, data } = due;
    const pool = 'pool' in due ? { pool: due.pool } : {};
    const draft = {
      type,
      data,
      run: call.run ?? undefined,
      turn: call.turn ?? undefined,
      causationid: cause.id,
      traceparent: cause.traceparent,
    } as AnyDraft;
    const appended = await ports.log.append({ ...ref, lane: 'i', intent, ...pool }, call.tail, draft);
    if (appended.ok) return true;
    state = await ports.log.latest(ref);
  }
  throw new RetryableError(
    'lane_conflict',
    `the lane of ${intent} changed ${ROUNDS} times while it was decided upon`,
  );
}
