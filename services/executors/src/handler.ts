/**
 * A delivered permit, from its delivery to its fact. Delivery is a hint; what counts is the lane.
 *
 * H1. Nothing touches the world before the claim is stored; nothing is acknowledged before the lane has the end.
 * H2. Whatever line it dies at, the next delivery goes on from what the lane shows.
 */
import { ack, type Delivery, type Fate, nak, RetryableError } from '@interlock/kit';
import type { ExecutorHouse } from './house.ts';
import { staleBaseline } from './protocol/baselines.ts';
import { type Claim, type ClaimTerms, claimCall, type Permit, timeoutOf } from './protocol/claim.ts';
import { abandon, type Outcome, type Refusal, refuse } from './protocol/conclude.ts';
import { type Decision, decide } from './protocol/decide.ts';
import { execute } from './protocol/execute.ts';
import { settleFact } from './protocol/settle.ts';
import { checkNow, permitOf, prepare, situationOf, viewOf } from './protocol/situation.ts';
import { lock } from './workspace/locks.ts';
import type { Workspace } from './workspace/paths.ts';

/** Conflicts in a row before the delivery is tried again later. */
const MAX_ROUNDS = 8;

export function createHandler(house: ExecutorHouse): (delivery: Delivery) => Promise<Fate> {
  return async (delivery) => {
    const permit = permitOf(delivery);
    if (permit === null) return ack;
    let lane = delivery.redeliveries > 0 ? await viewOf(house, permit) : null;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const { check, workspace } = await prepare(house, permit);
      const decision = decide(await situationOf(house, permit, lane, check));
      delivery.logger.debug({ decision }, 'decided');
      const outcome = await act(house, permit, decision, workspace);
      if (outcome !== 'conflict') return outcome;
      lane = await viewOf(house, permit);
    }
    throw new RetryableError(
      'lane_conflict',
      `the lane of ${permit.lane.intent} changed ${MAX_ROUNDS} times in a row`,
    );
  };
}

type Start = Extract<Decision, { kind: 'claim' | 'rerun' | 'adopt' }>;

async function act(
  house: ExecutorHouse,
  permit: Permit,
  decision: Decision,
  workspace: Workspace | null,
): Promise<Outcome> {
  switch (decision.kind) {
    case 'ack':
      return ack;
    case 'wait':
      return nak(decision.delayMs);
    case 'refuse':
      return refuse(house, permit, decision);
    case 'indeterminate':
      return abandon(house, permit, decision);
    case 'claim':
    case 'rerun':
    case 'adopt':
      if (workspace === null) throw new TypeError('a permit that failed its check was to be run');
      return run(house, permit, decision, workspace);
  }
}

/** Waits for the workspace, checks what only this host can see, claims, runs, tells. */
async function run(
  house: ExecutorHouse,
  permit: Permit,
  decision: Start,
  workspace: Workspace,
): Promise<Outcome> {
  const { invocation } = permit;
  const tool = house.tools.get(invocation.tool)?.tool;
  if (!tool) throw new TypeError(`a permit for ${invocation.tool} passed its check in a pool without it`);
  const call = house.running.start(permit.lane);
  const unlock = tool.readOnly ? noLock : await lock(workspace.root);
  try {
    if (decision.kind === 'claim') {
      const problem = await lateProblem(house, permit, workspace);
      if (problem) return await refuse(house, permit, { tail: decision.tail, ...problem });
    }
    const terms = { tool, workspace, timeoutMs: timeoutOf(house, tool, invocation) };
    const claim = await takeClaim(house, permit, decision, terms);
    if (!claim) return 'conflict';
    const fact = await execute(house, { permit, claim, call, ...terms });
    unlock();
    const settlement = await settleFact({ ...house, leaseMs: house.config.leaseMs }, fact);
    // What lies on disk is not in the log, so the delivery stays open for the next start.
    return settlement === 'spooled' ? nak(1000) : ack;
  } finally {
    house.running.end(call);
    unlock();
  }
}

const noLock = (): void => undefined;

async function takeClaim(
  house: ExecutorHouse,
  permit: Permit,
  decision: Start,
  terms: ClaimTerms,
): Promise<Claim | null> {
  if (decision.kind !== 'adopt') return claimCall(house, permit, terms, decision);
  const { seq, epoch, leaseUntilMs } = decision.claim;
  // Held since before this look at it: what is left of its lease is what counts.
  const leftMs = leaseUntilMs - house.clock.now().getTime();
  const claimedAt = performance.now() + leftMs - house.config.leaseMs;
  return { seq, epoch: epoch ?? 1, tail: decision.tail, id: undefined, claimedAt };
}

/** What has become wrong while the call waited for its workspace. */
async function lateProblem(
  house: ExecutorHouse,
  permit: Permit,
  workspace: Workspace,
): Promise<Omit<Refusal, 'tail'> | null> {
  const now = checkNow(house, permit);
  if (!now.ok) return now;
  const stale = await staleBaseline(house, workspace, permit.invocation);
  return stale === null ? null : { code: 'stale_baseline', message: stale };
}
