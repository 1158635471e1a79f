/** Ends of a call that did not run here: refused before its claim, or left behind by its holder. */
import { ack, append, type Fate, messageOf, putArtifact } from '@interlock/kit';
import { Attachments } from '../artifacts.ts';
import type { ExecutorHouse } from '../house.ts';
import type { ProbeResult } from '../tools/tool.ts';
import { openWorkspace } from '../workspace/paths.ts';
import type { Permit } from './claim.ts';
import type { Decision } from './decide.ts';
import { abandonedFact, type FactData, refusedFact, type Teller } from './facts.ts';

/** The fate of a delivery, or a conflict, which asks for a new look at the lane. */
export type Outcome = Fate | 'conflict';

export type Refusal = Pick<Extract<Decision, { kind: 'refuse' }>, 'tail' | 'code' | 'message'>;

/** Nothing ran, and nothing will. */
export function refuse(
  house: ExecutorHouse,
  permit: Permit,
  { tail, code, message }: Refusal,
): Promise<Outcome> {
  house.logger.warn({ intent: permit.lane.intent, code, message }, 'refused');
  return appendFact(house, permit, tail, refusedFact(tellerOf(house), permit.invocation.tool, code, message));
}

/** The holder of the claim is gone: looks at the world where the tool can, and tells what is known. */
export async function abandon(
  house: ExecutorHouse,
  permit: Permit,
  { tail, claim, probe }: Extract<Decision, { kind: 'indeterminate' }>,
): Promise<Outcome> {
  const attachments = new Attachments();
  const found = probe ? await lookAtWorld(house, permit, attachments) : null;
  const { tenant } = permit.lane;
  await Promise.all(attachments.all.map(({ ref, bytes }) => putArtifact(house.bus, tenant, bytes, ref)));
  const under = { seq: claim.seq, epoch: claim.epoch ?? 1 };
  const data = abandonedFact(tellerOf(house), permit.invocation.tool, under, {
    probe: found,
    artifacts: attachments.refs,
  });
  const { outcome } = data;
  house.logger.warn({ intent: permit.lane.intent, outcome, probe: data.probe }, 'its holder is gone');
  return appendFact(house, permit, tail, data);
}

async function lookAtWorld(
  house: ExecutorHouse,
  { invocation, lane }: Permit,
  { attach }: Attachments,
): Promise<ProbeResult | null> {
  const { tools, workspaces, limits, logger } = house;
  const tool = tools.get(invocation.tool)?.tool;
  const opened = await openWorkspace(invocation.workspace, workspaces);
  if (!tool?.probe || !opened.ok) return null;
  const { workspace } = opened;
  const { baselines } = invocation;
  try {
    return await tool.probe(invocation.input, { workspace, intent: lane.intent, baselines, limits, attach });
  } catch (error) {
    logger.warn({ err: error, intent: lane.intent }, 'a look at the world failed');
    return { verdict: 'unknown', detail: `the look failed: ${messageOf(error)}` };
  }
}

async function appendFact(
  { bus, writer, pool }: ExecutorHouse,
  { lane, event, traceparent }: Permit,
  tail: Refusal['tail'],
  data: FactData,
): Promise<Outcome> {
  const { run, turn, id } = event.envelope;
  const draft = { type: 'tool.execution.completed', data, run, turn, causationid: id, traceparent } as const;
  const appended = await append(bus, writer, { ...lane, lane: 'i', pool }, tail, draft);
  return appended.ok ? ack : 'conflict';
}

function tellerOf({ pool, worker, sandbox }: ExecutorHouse): Teller {
  return { pool, worker, sandboxLevel: sandbox.level };
}
