/** Ends a claim whose holder is gone: a fact of the observer's own, signed, that says nothing is known. */
import type { CallState, ConversationState, ToolExecutionCompletedV1 } from '@interlock/contracts';
import { appendOnLane } from './on-lane.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';

type Claim = NonNullable<CallState['claim']>;

export function isLapsed({ leaseUntil }: Claim, now: number): boolean {
  return Date.parse(leaseUntil) <= now;
}

/** The fact of a claim that nobody holds any more. */
function abandonedFact(call: CallState, claim: Claim, worker: string): ToolExecutionCompletedV1 {
  return {
    pool: claim.pool,
    tool: call.tool,
    outcome: 'indeterminate',
    code: 'outcome_unknown',
    worker,
    claimSeq: claim.seq,
    epoch: claim.epoch,
    sandboxLevel: null,
    exitCode: null,
    signal: null,
    durationMs: 0,
    output: [],
    artifacts: [],
    effects: { files: [], scope: 'none', excluded: [] },
    network: [],
    reads: [],
  };
}

export interface Abandonment {
  readonly state: ConversationState;
  readonly intent: string;
  readonly cause: Cause;
}

/** Appends the fact while the claim in force is one that has lapsed; a holder that comes back is fenced by it. */
export async function abandon(ports: Ports, ref: SessionRef, at: Abandonment): Promise<void> {
  const { clock, instance, metrics, logger } = ports;
  const isAppended = await appendOnLane(ports, ref, {
    ...at,
    decide: (call) => {
      const { claim, stage } = call;
      if (!claim || stage !== 'started' || !isLapsed(claim, clock.now().getTime())) return null;
      const data = abandonedFact(call, claim, instance);
      return { type: 'tool.execution.completed', pool: claim.pool, data };
    },
  });
  if (!isAppended) return;
  metrics.abandoned.inc();
  logger.warn({ ...ref, intent: at.intent }, 'the holder of a claim is gone');
}
