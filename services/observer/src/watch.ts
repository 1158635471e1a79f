/**
 * The watch of a session: a call whose pool is gone for good ends, and never in silence.
 *
 * W1. A run whose calls were ever open is watched until it is finished: who handles the watch puts it again first,
 *     then acknowledges. Each replica puts it once for a run, so a short turn pays nothing.
 * W2. A permit that nobody took up before it expired: `tool.cancelled`.
 * W3. A claim whose lease has lapsed is left to its pool for a while, since the pool can look at the world; then the
 *     observer says `indeterminate` itself. The second look is a timer of its own, so it survives the replica.
 * W4. A call that has ended and is not observed, though nothing is left to wait for, is observed from the log.
 */
import {
  type CallState,
  type ConversationState,
  callOf,
  isWaitingForPeople,
  openCalls,
  type TimerAddress,
} from '@interlock/contracts';
import { abandon, isLapsed } from './abandon.ts';
import { isOrphan, observeFromLog } from './observe.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';
import type { RecentKeys } from './recent-keys.ts';
import { isEnded } from './stopping.ts';
import { withdraw } from './withdraw.ts';

/** People take their time: a session that waits for them alone is looked at this much more seldom. */
const PATIENCE = 4;
const SOONEST_MS = 1000;

export interface WatchPlan {
  /** Unclaimed calls past their permit. */
  readonly expired: readonly string[];
  /** Claims past the lease they came with; a renewed lease may still hold. */
  readonly lapsed: readonly { readonly intent: string; readonly pool: string }[];
  /** Calls that have ended and wait for nothing but their observation. */
  readonly unobserved: readonly CallState[];
  /** When to look again; null when there is nothing left to watch. */
  readonly againInMs: number | null;
}

/** What a look at the session finds. Pure. */
export function planWatch(state: ConversationState, now: number, watchMs: number): WatchPlan {
  const calls = Object.values(state.calls).filter((call) => call.stage !== 'observed');
  return {
    expired: calls.filter((call) => hasExpired(call, now)).map(({ intent }) => intent),
    lapsed: calls.flatMap(({ intent, stage, claim }) =>
      stage === 'started' && claim && isLapsed(claim, now) ? [{ intent, pool: claim.pool }] : [],
    ),
    unobserved: calls.filter((call) => isEnded(call) && !waitsForAnother(state, call)),
    againInMs: calls.length === 0 && !state.run ? null : nextLook(state, { calls, now, watchMs }),
  };
}

function hasExpired({ stage, allowed }: CallState, now: number): boolean {
  return stage === 'allowed' && allowed !== null && Date.parse(allowed.expiresAt) <= now;
}

function waitsForAnother(state: ConversationState, call: CallState): boolean {
  if (call.supersededBy === null || isOrphan(state, call)) return false;
  return callOf(state, call.supersededBy)?.stage !== 'observed';
}

function nextLook(
  state: ConversationState,
  { calls, now, watchMs }: { calls: readonly CallState[]; now: number; watchMs: number },
): number {
  const usual = isWaitingForPeople(state) ? PATIENCE * watchMs : watchMs;
  const waits = calls.flatMap(({ stage, allowed, claim }) => {
    const until =
      stage === 'allowed' ? allowed?.expiresAt : stage === 'started' ? claim?.leaseUntil : undefined;
    const left = until === undefined ? 0 : Date.parse(until) - now;
    return left > 0 ? [left] : [];
  });
  return Math.max(Math.min(usual, ...waits), Math.min(SOONEST_MS, watchMs));
}

/** The session's watch: its id is the session's. */
function watchOf(ref: SessionRef): TimerAddress {
  return { kind: 'watch', ...ref, id: ref.session };
}

/** Puts the watch of a run with open calls, unless this replica has done so for this run. */
export async function ensureWatch(
  ports: Ports,
  state: ConversationState,
  watched: RecentKeys,
): Promise<void> {
  const { tenant, session, run } = state;
  if (!run || watched.has(run.id) || openCalls(state).length === 0) return;
  await setIn(ports, watchOf({ tenant, session }), ports.config.watchMs);
  watched.add(run.id);
}

/** The watch fired. */
export async function onWatch(ports: Ports, ref: SessionRef, cause: Cause): Promise<void> {
  const { clock, config } = ports;
  const state = await ports.log.latest(ref);
  const { expired, lapsed, unobserved, againInMs } = planWatch(state, clock.now().getTime(), config.watchMs);
  await Promise.all(
    expired.map((intent) =>
      withdraw(ports, ref, {
        state,
        intent,
        cause,
        data: { reason: 'expired', detail: 'No executor took the call up before its permit expired.' },
        when: (call) => hasExpired(call, clock.now().getTime()),
      }),
    ),
  );
  await Promise.all(
    lapsed.map(async ({ intent, pool }) => {
      if (await ports.isLeaseAlive(pool, intent)) return;
      await setIn(ports, { ...watchOf(ref), id: intent }, config.leaseGraceMs);
    }),
  );
  await Promise.all(unobserved.map((call) => observeFromLog(ports, ref, { state, call, cause })));
  if (againInMs === null) return;
  // A look before the second look at a claim would only put that off.
  const delayMs = lapsed.length > 0 ? Math.max(againInMs, config.leaseGraceMs + SOONEST_MS) : againInMs;
  await setIn(ports, watchOf(ref), delayMs);
}

/** The second look at one claim. The session's own watch goes on beside it. */
export async function onSecondLook(
  ports: Ports,
  ref: SessionRef,
  { intent, cause }: { readonly intent: string; readonly cause: Cause },
): Promise<void> {
  const state = await ports.log.latest(ref);
  const claim = callOf(state, intent)?.claim;
  if (!claim || (await ports.isLeaseAlive(claim.pool, intent))) return;
  await abandon(ports, ref, { state, intent, cause });
}

function setIn(ports: Ports, timer: TimerAddress, delayMs: number): Promise<void> {
  return ports.setTimer(timer, new Date(ports.clock.now().getTime() + delayMs));
}
