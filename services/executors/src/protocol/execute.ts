/** Running a claimed call, and telling what it did. */
import { failpoint, messageOf } from '@interlock/kit';
import { Attachments, artifactReader } from '../artifacts.ts';
import type { ExecutorHouse } from '../house.ts';
import { createLiveOutput } from '../live.ts';
import { type ExecutionContext, failure, type Tool, type ToolResult } from '../tools/tool.ts';
import { FileRefusedError } from '../workspace/open.ts';
import type { Workspace } from '../workspace/paths.ts';
import { type Claim, holdClaim, type Permit } from './claim.ts';
import { completedFact } from './facts.ts';
import type { RunningCall } from './running.ts';
import type { PendingFact } from './spool.ts';

export interface Execution {
  readonly permit: Permit;
  readonly claim: Claim;
  readonly call: RunningCall;
  readonly tool: Tool;
  readonly workspace: Workspace;
  readonly timeoutMs: number;
}

/** Runs the call once. Never rejects: whatever happens is told. */
export async function execute(house: ExecutorHouse, execution: Execution): Promise<PendingFact> {
  const { permit, claim, call, tool, timeoutMs } = execution;
  const { invocation, event, lane, traceparent } = permit;
  const attachments = new Attachments();
  house.running.begin(call);
  const lease = holdClaim(house, permit, claim, call);
  const timer = setTimeout(() => call.stop('timeout'), timeoutMs);
  const startedAt = performance.now();
  failpoint('before-effect', tool.name);
  const result = await runTool(house, execution, attachments);
  failpoint('after-effect', tool.name);
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  clearTimeout(timer);
  lease.stop();
  const { pool, worker, sandbox } = house;
  return {
    id: house.ids.ulid(),
    lane,
    pool,
    claimSeq: claim.seq,
    tail: claim.tail,
    data: completedFact({ pool, worker, sandboxLevel: sandbox.level }, invocation, claim, {
      result,
      durationMs,
      artifacts: attachments.refs,
    }),
    attachments: attachments.all,
    run: event.envelope.run,
    turn: event.envelope.turn,
    causationid: claim.id ?? event.envelope.id,
    traceparent,
  };
}

async function runTool(
  house: ExecutorHouse,
  { permit, call, tool, workspace }: Execution,
  attachments: Attachments,
): Promise<ToolResult> {
  if (call.signal.aborted) return failure('stopped before it began', 'aborted');
  const { invocation, lane } = permit;
  const live = createLiveOutput(house.bus, lane);
  const context: ExecutionContext = {
    intent: lane.intent,
    workspace,
    limits: house.limits,
    seen: house.seen,
    budgets: invocation.budgets,
    baselines: invocation.baselines,
    sandbox: house.sandbox,
    mayWrite: invocation.sandbox.writable,
    signal: call.signal,
    attach: attachments.attach,
    live: live.write,
    readArtifact: artifactReader(house.bus, lane.tenant),
  };
  try {
    return await tool.execute(invocation.input, context);
  } catch (error) {
    if (error instanceof FileRefusedError) return failure(error.message, error.code);
    house.logger.error({ err: error, intent: lane.intent, tool: tool.name }, 'a tool failed unexpectedly');
    return failure(messageOf(error));
  } finally {
    live.end();
  }
}
