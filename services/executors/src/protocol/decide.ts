/**
 * What an executor does with a delivered permit. Pure.
 *
 * P1. Nothing runs without a claim, and a claim follows the very permit that was delivered.
 * P2. A permit that is wrong is refused without a claim, while it is unclaimed; after that only the claim counts.
 * P3. While a claim's lease lives it is left to its holder. After that a call runs again only when its tool says that
 *     this is harmless; otherwise the end is unknown, and is told as unknown.
 * P4. A delivery is acknowledged only when the lane shows that there is nothing left to do.
 */
import type { ErrorCode, LaneTail, ResumePolicy } from '@interlock/contracts';
import type { PermitCheck } from './permit.ts';

/** The last step of a lane that counts. */
export interface LaneStep {
  readonly seq: number;
  readonly type: string;
  readonly id: string;
  readonly nonce: string;
}

/** A claim as far as the lane's reader knows it. */
export interface ClaimView {
  readonly seq: number;
  /** Null: not known. */
  readonly worker: string | null;
  /** Null: not known, so it cannot be counted on from. */
  readonly epoch: number | null;
  readonly leaseUntilMs: number;
}

/** A lane as the leader has it. */
export interface LaneView {
  readonly tail: LaneTail;
  readonly step: LaneStep | null;
  /** Set when the last step is a claim. */
  readonly claim: ClaimView | null;
}

export interface Situation {
  readonly nowMs: number;
  /** The delivered permit, as stored. */
  readonly permit: LaneTail;
  readonly check: PermitCheck;
  readonly resumePolicy: ResumePolicy;
  /** Null on a first delivery: the permit is taken to be the end of its lane, and the comparison says if it is not. */
  readonly lane: LaneView | null;
  /** This worker. */
  readonly worker: string;
  /** This worker is at the call right now, or still has its fact to append. */
  readonly isRunning: boolean;
  /** This worker has begun the call's effect at some time. */
  readonly hasBegun: boolean;
  /** A lease in the bucket is alive: its end is not known. */
  readonly isRenewed: boolean;
  /** The connection came back just now: a holder elsewhere may be about to append its fact. */
  readonly isSettling: boolean;
  /** Clocks of two hosts may differ by this much. */
  readonly slackMs: number;
}

export type Decision =
  | { readonly kind: 'claim'; readonly tail: LaneTail; readonly epoch: number }
  /** The claim is this worker's own, and nothing has been done under it. */
  | { readonly kind: 'adopt'; readonly tail: LaneTail; readonly claim: ClaimView }
  | { readonly kind: 'refuse'; readonly tail: LaneTail; readonly code: ErrorCode; readonly message: string }
  | {
      readonly kind: 'indeterminate';
      readonly tail: LaneTail;
      readonly claim: ClaimView;
      /** Look at the world first. */
      readonly probe: boolean;
    }
  | { readonly kind: 'rerun'; readonly tail: LaneTail; readonly epoch: number }
  | { readonly kind: 'wait'; readonly delayMs: number; readonly why: string }
  | { readonly kind: 'ack'; readonly why: string };

const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 15_000;
/** How often one's own running call is looked at again. */
const RUNNING_WAIT_MS = 1000;

export function decide(situation: Situation): Decision {
  const { lane, permit, isRunning } = situation;
  if (isRunning) return wait(RUNNING_WAIT_MS, 'this worker is at it');
  if (lane === null) return begin(situation, permit);
  const { step } = lane;
  if (step === null) return { kind: 'ack', why: 'the lane has no step that counts' };
  switch (step.type) {
    case 'tool.approval.allowed':
      return step.seq === permit.seq
        ? begin(situation, lane.tail)
        : { kind: 'ack', why: 'another permit is in force' };
    case 'tool.execution.started':
      return lane.claim
        ? claimed(situation, lane, lane.claim)
        : wait(RUNNING_WAIT_MS, 'the claim is not known yet');
    default:
      return { kind: 'ack', why: `the lane is at ${step.type}` };
  }
}

function begin({ check }: Situation, tail: LaneTail): Decision {
  return check.ok
    ? { kind: 'claim', tail, epoch: 1 }
    : { kind: 'refuse', tail, code: check.code, message: check.message };
}

function claimed(situation: Situation, { tail }: LaneView, claim: ClaimView): Decision {
  const { nowMs, worker, hasBegun, isRenewed, isSettling, slackMs, check } = situation;
  const left = claim.leaseUntilMs - nowMs;
  if (claim.worker === worker && !hasBegun && check.ok && left > slackMs)
    return { kind: 'adopt', tail, claim };
  if (left > -slackMs) return wait(left + slackMs, 'its lease is alive');
  if (isRenewed) return wait(MAX_WAIT_MS / 3, 'its lease was renewed');
  if (isSettling) return wait(MAX_WAIT_MS / 5, 'the connection has just come back');
  return abandoned(situation, tail, claim);
}

function abandoned({ resumePolicy, check }: Situation, tail: LaneTail, claim: ClaimView): Decision {
  switch (resumePolicy) {
    case 'rerun-safe':
      // A permit that is no longer good is none to run on again.
      return check.ok && claim.epoch !== null
        ? { kind: 'rerun', tail, epoch: claim.epoch + 1 }
        : { kind: 'indeterminate', tail, claim, probe: false };
    case 'probe':
      return { kind: 'indeterminate', tail, claim, probe: true };
    case 'never-rerun':
      return { kind: 'indeterminate', tail, claim, probe: false };
  }
}

function wait(delayMs: number, why: string): Decision {
  return { kind: 'wait', delayMs: Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, Math.ceil(delayMs))), why };
}
