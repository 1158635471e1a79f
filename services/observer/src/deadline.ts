/**
 * The wall time of a run. A timer is set when it could be up; waiting for people stops the clock, so when it fires
 * there may be time left. Only then is it set again; else the run is cancelled, on record like any other cancel.
 */
import type { ConversationState, TimerAddress } from '@interlock/contracts';
import type { Cause, Ports, SessionRef } from './ports.ts';
import type { RecentKeys } from './recent-keys.ts';

/** Milliseconds that the run under way may still be active; null when it has no such limit. Pure. */
export function activeTimeLeft(state: ConversationState, now: number): number | null {
  const { run, opened } = state;
  const limit = opened?.budgets.maxWallMs;
  if (!run || limit === undefined) return null;
  const waiting = run.waitingSince === null ? 0 : Math.max(0, now - Date.parse(run.waitingSince));
  return limit - (now - Date.parse(run.startedAt) - run.waitedMs - waiting);
}

function deadlineOf(ref: SessionRef, run: string): TimerAddress {
  return { kind: 'deadline', ...ref, id: run };
}

/** Sets the timer of the run under way, unless this replica has done so. */
export async function ensureDeadline(ports: Ports, state: ConversationState, set: RecentKeys): Promise<void> {
  const { tenant, session, run } = state;
  if (!run || set.has(run.id)) return;
  const now = ports.clock.now().getTime();
  const left = activeTimeLeft(state, now);
  if (left === null) return;
  await ports.setTimer(deadlineOf({ tenant, session }, run.id), new Date(now + Math.max(0, left)));
  set.add(run.id);
}

/** The timer of a run fired. */
export async function onDeadline(
  ports: Ports,
  ref: SessionRef,
  { runId, cause }: { readonly runId: string; readonly cause: Cause },
): Promise<void> {
  const state = await ports.log.latest(ref);
  const { run } = state;
  if (run?.id !== runId || run.cancel || state.closed) return;
  const now = ports.clock.now().getTime();
  const left = activeTimeLeft(state, now);
  if (left === null) return;
  if (left > 0) {
    // While people are waited for the clock stands: a short rest would be measured again and again.
    const delayMs = run.waitingSince === null ? left : Math.max(left, ports.config.watchMs);
    await ports.setTimer(deadlineOf(ref, runId), new Date(now + delayMs));
    return;
  }
  await ports.log.post(ref, {
    type: 'run.cancel',
    data: { reason: 'budget', by: 'observer', run: runId, comment: 'the wall time of the run is used up' },
    run: runId,
    causationid: cause.id,
    traceparent: cause.traceparent,
  });
}
