/** The claim: recorded before anything touches the world. */
import { BUCKETS, type Invocation, type LaneTail, leaseKey, type StoredEventOf } from '@interlock/contracts';
import { append, putWithTtl } from '@interlock/kit';
import type { ExecutorHouse } from '../house.ts';
import type { Tool } from '../tools/tool.ts';
import type { Workspace } from '../workspace/paths.ts';
import { keepLease, type Lease } from './lease.ts';
import type { RunningCall } from './running.ts';

/** The permit that a call rests on, and where it stands. */
export interface Permit {
  readonly event: StoredEventOf<'tool.approval.allowed'>;
  readonly invocation: Invocation;
  readonly lane: { readonly tenant: string; readonly session: string; readonly intent: string };
  readonly traceparent: string;
}

/** A claim that is this worker's. */
export interface Claim {
  readonly seq: number;
  readonly epoch: number;
  /** What the fact chains to. */
  readonly tail: LaneTail;
  /** Id of the claim's event; absent when it was found on the lane. */
  readonly id: string | undefined;
  /** By `performance.now()`, before it was sent. */
  readonly claimedAt: number;
}

export interface ClaimTerms {
  readonly tool: Tool;
  readonly workspace: Workspace;
  readonly timeoutMs: number;
}

/** Limits of a call: what it asks for, within what the permit and the house allow. */
export function timeoutOf({ limits }: ExecutorHouse, tool: Tool, { input, budgets }: Invocation): number {
  return Math.min(tool.timeoutMs(input) ?? budgets.timeoutMs, budgets.timeoutMs, limits.maxTimeoutMs);
}

/** Claims at a place of the lane; null when somebody else was first. @throws RetryableError when nothing is sure */
export async function claimCall(
  house: ExecutorHouse,
  permit: Permit,
  terms: ClaimTerms,
  at: { readonly tail: LaneTail; readonly epoch: number },
): Promise<Claim | null> {
  const { bus, writer, clock, config, sandbox, pool, worker } = house;
  const { invocation, lane, event, traceparent } = permit;
  const claimedAt = performance.now();
  const appended = await append(bus, writer, { ...lane, lane: 'i', pool }, at.tail, {
    type: 'tool.execution.started',
    data: {
      pool,
      worker,
      epoch: at.epoch,
      leaseUntil: new Date(clock.now().getTime() + config.leaseMs).toISOString(),
      cwd: terms.workspace.root,
      envNames: terms.tool.runsPrograms ? [...sandbox.envNames] : [],
      sandboxLevel: sandbox.level,
      limits: { timeoutMs: terms.timeoutMs, outputBytes: invocation.budgets.outputBytes },
    },
    run: event.envelope.run,
    turn: event.envelope.turn,
    causationid: event.envelope.id,
    traceparent,
  });
  if (!appended.ok) return null;
  const { entry, tail } = appended;
  return { seq: tail.seq, epoch: at.epoch, tail, id: entry.envelope.id, claimedAt };
}

/** Keeps a claim alive while its call runs; a claim that is lost stops the call. */
export function holdClaim(house: ExecutorHouse, permit: Permit, claim: Claim, call: RunningCall): Lease {
  const { bus, clock, config, pool, worker, logger } = house;
  const { leaseMs } = config;
  const key = leaseKey(pool, permit.lane.intent);
  return keepLease({
    leaseMs,
    claimedAt: claim.claimedAt,
    renew: async () => {
      const until = new Date(clock.now().getTime() + leaseMs).toISOString();
      const value = JSON.stringify({ worker, epoch: claim.epoch, leaseUntil: until });
      await putWithTtl(bus, BUCKETS.leases, key, value, leaseMs);
    },
    onLost: () => {
      logger.error({ intent: permit.lane.intent }, 'the lease could not be renewed; the call is stopped');
      call.stop('lease_lost');
    },
    onFailure: (error) => logger.warn({ err: error, intent: permit.lane.intent }, 'a lease was not renewed'),
  });
}
