/** Withdrawing calls that nobody has claimed, alone or with the run they belong to. */
import type { CallState, ConversationState, ToolCancelledV1 } from '@interlock/contracts';
import { planStop } from './cancel.ts';
import { appendOnLane } from './on-lane.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';
import { isUnclaimed } from './stopping.ts';

/**
 * Stops the run under way as far as it can be now: withdraws what nobody claimed, tells those who run something.
 * Idempotent: what is done stays done, what is not is tried again.
 */
export async function stopRun(
  ports: Ports,
  ref: SessionRef,
  { state, cause }: { readonly state: ConversationState; readonly cause: Cause },
): Promise<void> {
  const plan = planStop(state);
  if (!plan) return;
  if (plan.control) ports.sendControl(ref, plan.control);
  const data = { reason: 'run_cancelled' } as const;
  await Promise.all(
    plan.withdraw.map((intent) => withdraw(ports, ref, { state, intent, cause, data, when: () => true })),
  );
}

export interface Withdrawal {
  /** The fold that the decision to withdraw rests on. */
  readonly state: ConversationState;
  readonly intent: string;
  readonly data: ToolCancelledV1;
  readonly cause: Cause;
  /** Judged again after each conflict; the call is left alone once it is false. */
  readonly when: (call: CallState, state: ConversationState) => boolean;
}

/** Appends `tool.cancelled` while the call is unclaimed and `when` holds; its delivery has the call observed. */
export async function withdraw(
  ports: Ports,
  ref: SessionRef,
  { data, when, ...at }: Withdrawal,
): Promise<void> {
  await appendOnLane(ports, ref, {
    ...at,
    decide: (call, now) => (isUnclaimed(call) && when(call, now) ? { type: 'tool.cancelled', data } : null),
  });
}
