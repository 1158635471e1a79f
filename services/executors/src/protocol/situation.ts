/** What a decision rests on, gathered. */
import { BUCKETS, leaseKey, parseEventSubject } from '@interlock/contracts';
import { type Delivery, getKey } from '@interlock/kit';
import type { ExecutorHouse } from '../house.ts';
import { openWorkspace, type Workspace } from '../workspace/paths.ts';
import type { Permit } from './claim.ts';
import type { LaneView, Situation } from './decide.ts';
import { viewLane } from './lane-view.ts';
import { checkPermit, type PermitCheck } from './permit.ts';
import { RunningCalls } from './running.ts';

/** The permit of a delivery; null when it is none. */
export function permitOf({ entry, subject, traceparent }: Delivery): Permit | null {
  const address = parseEventSubject(subject);
  if (entry.type !== 'tool.approval.allowed' || address?.intent === undefined) return null;
  const { tenant, session, intent } = address;
  return { event: entry, invocation: entry.data.invocation, lane: { tenant, session, intent }, traceparent };
}

/** A permit that was looked at on this host. */
export interface Prepared {
  readonly check: PermitCheck;
  /** Null when the check failed. */
  readonly workspace: Workspace | null;
}

/** Checks a permit and opens its workspace. */
export async function prepare(house: ExecutorHouse, permit: Permit): Promise<Prepared> {
  const check = checkNow(house, permit);
  if (!check.ok) return { check, workspace: null };
  const opened = await openWorkspace(permit.invocation.workspace, house.workspaces);
  if (opened.ok) return { check, workspace: opened.workspace };
  return { check: { ok: false, code: 'exception', message: opened.message }, workspace: null };
}

/** What can be said of a permit without a look at a file. */
export function checkNow(house: ExecutorHouse, { event, invocation, lane }: Permit): PermitCheck {
  const { pool, tools, sandbox, clock } = house;
  return checkPermit({
    invocation,
    authentic: event.authenticity === 'verified',
    intent: lane.intent,
    pool,
    nowMs: clock.now().getTime(),
    toolDigest: tools.get(invocation.tool)?.digest ?? null,
    sandboxLevel: sandbox.level,
  });
}

/** The end of the permit's lane. @throws RetryableError when it cannot be said */
export function viewOf({ bus, config }: ExecutorHouse, { lane }: Permit): Promise<LaneView> {
  return viewLane(bus, lane, config.leaseMs);
}

export async function situationOf(
  house: ExecutorHouse,
  permit: Permit,
  lane: LaneView | null,
  check: PermitCheck,
): Promise<Situation> {
  const { worker, running, clock, config, isSettling } = house;
  const { event, invocation } = permit;
  const key = RunningCalls.keyOf(permit.lane);
  const nowMs = clock.now().getTime();
  const claim = lane?.claim;
  return {
    nowMs,
    permit: { seq: event.seq, hash: event.hash },
    check,
    resumePolicy: invocation.resumePolicy,
    lane,
    worker,
    isRunning: running.has(key),
    hasBegun: running.hasBegun(key),
    isRenewed: claim && claim.leaseUntilMs < nowMs ? await isRenewed(house, permit) : false,
    isSettling: isSettling(),
    slackMs: config.leaseMs / 15,
  };
}

async function isRenewed({ bus, pool }: ExecutorHouse, { lane }: Permit): Promise<boolean> {
  return (await getKey(bus, BUCKETS.leases, leaseKey(pool, lane.intent))) !== null;
}
