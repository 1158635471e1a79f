/** The end of a lane, asked of the event-store: an executor never reads the log itself. */
import { type LaneAddress, type LaneReplyV1, rpcSubject } from '@interlock/contracts';
import { type Bus, callRpc, type ReadBack, RetryableError } from '@interlock/kit';
import type { ClaimView, LaneView } from './decide.ts';

const QUERY_TIMEOUT_MS = 5000;

/** An intent's lane. */
export interface IntentLane {
  readonly tenant: string;
  readonly session: string;
  readonly intent: string;
}

/**
 * Looks at a lane.
 * @param leaseMs how long a claim is held at first, for a reply that does not say
 * @throws RetryableError when the event-store does not answer
 */
export async function viewLane(bus: Bus, lane: IntentLane, leaseMs: number): Promise<LaneView> {
  const { tenant, session, intent } = lane;
  const reply = await callRpc(bus, {
    subject: rpcSubject.query(tenant, 'lane'),
    rpc: 'query.lane',
    request: { session, intent },
    timeoutMs: QUERY_TIMEOUT_MS,
    unavailable: 'query_timeout',
  });
  if (!reply.ok) throw new RetryableError(reply.code, `query.lane: ${reply.message}`);
  return { tail: reply.tail, step: reply.step, claim: claimOf(reply, leaseMs) };
}

type Answer = Extract<LaneReplyV1, { ok: true }>;

/** The claim, when it is the last step. A reply without its data tells its time by its id. */
function claimOf({ step, claim }: Answer, leaseMs: number): ClaimView | null {
  if (step?.type !== 'tool.execution.started') return null;
  if (claim && claim.seq === step.seq) {
    const { seq, worker, epoch, leaseUntil } = claim;
    return { seq, worker, epoch, leaseUntilMs: Date.parse(leaseUntil) };
  }
  return { seq: step.seq, worker: null, epoch: null, leaseUntilMs: timeOfUlid(step.id) + leaseMs };
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Milliseconds since 1970 in the first ten characters. */
function timeOfUlid(id: string): number {
  let time = 0;
  for (const char of id.slice(0, 10)) time = time * 32 + Math.max(0, CROCKFORD.indexOf(char));
  return time;
}

/** The first event after a place in a lane, for an append whose acknowledgement was lost. */
export function readBackByQuery(bus: Bus): (lane: LaneAddress, afterSeq: number) => Promise<ReadBack | null> {
  return async ({ tenant, session, intent = '' }, afterSeq) => {
    const { tail, step } = await viewLane(bus, { tenant, session, intent }, 0);
    if (tail.seq <= afterSeq) return null;
    return step && step.seq > afterSeq
      ? { seq: step.seq, nonce: step.nonce }
      : { seq: tail.seq, nonce: null };
  };
}
