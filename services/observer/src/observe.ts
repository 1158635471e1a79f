/**
 * Gives a call its one observation.
 *
 * O1. Only the event that ended the call, as the fold has it, is projected: strays and repeats are not.
 * O2. The append compares with the lane's tail, so of several observers one wins, and the others see it done.
 * O3. A superseded call waits for the one in its place, and is observed with that one's result.
 */
import {
  type CallState,
  type ConversationState,
  callOf,
  eventSubject,
  isEvent,
  type StoredEvent,
  type StoredEventOf,
} from '@interlock/contracts';
import { RetryableError } from '@interlock/kit';
import { appendOnLane } from './on-lane.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';
import { type Ending, project } from './project/project.ts';
import type { Projection } from './project/projection.ts';
import { projectSuperseded } from './project/superseded.ts';
import { isEnded } from './stopping.ts';

export interface Ended {
  readonly state: ConversationState;
  /** The event that ended the call. */
  readonly ending: Ending;
  readonly cause: Cause;
  /** The call in its place will never come: it is observed as what it is. Default false: wait for that one. */
  readonly isOrphan?: boolean;
}

/** Observes the call that `ending` ended; leaves it alone when something else did, or when it is observed. */
export async function observeCall(ports: Ports, ref: SessionRef, ended: Ended): Promise<void> {
  const { state, ending, cause, isOrphan = false } = ended;
  const call = callOf(state, ending.envelope.intent ?? '');
  if (!call || call.step?.seq !== ending.seq) return;
  if (call.supersededBy !== null && !isOrphan) {
    const edited = callOf(state, call.supersededBy);
    if (edited?.stage === 'observed') await observeSuperseded(ports, ref, { state, edited, cause });
    return;
  }
  const projection = project(ending, { readOnly: call.readOnly, budgetBytes: ports.config.observationBytes });
  const causedBy = { ...cause, id: ending.envelope.id };
  await appendObservation(ports, ref, { state, call, projection, cause: causedBy });
}

/** Observes a call from the log alone, where the delivery of its end is not at hand. */
export async function observeFromLog(
  ports: Ports,
  ref: SessionRef,
  {
    state,
    call,
    cause,
  }: { readonly state: ConversationState; readonly call: CallState; readonly cause: Cause },
): Promise<void> {
  if (!call.step || !isEnded(call)) return;
  const { intent, allowed } = call;
  const subject = eventSubject({ ...ref, lane: 'i', intent, type: call.step.type, pool: allowed?.pool });
  const ending = await ports.log.at(subject, call.step.seq);
  if (!ending || ending.type === 'unreadable' || !endsCall(ending)) return;
  await observeCall(ports, ref, { state, ending, cause, isOrphan: isOrphan(state, call) });
}

/** Superseded by a call that does not stand for it: none of that id, or one of another's making. */
export function isOrphan(state: ConversationState, { intent, supersededBy }: CallState): boolean {
  return supersededBy !== null && callOf(state, supersededBy)?.supersedes !== intent;
}

export interface Superseding {
  readonly state: ConversationState;
  /** The call that stands in the place of another, observed. */
  readonly edited: CallState;
  readonly cause: Cause;
  /** The observation of `edited`, where it is at hand. */
  readonly observation?: StoredEventOf<'tool.observation'>;
}

/** Observes the call whose place an observed one took, and in turn the call whose place that one had taken. */
export async function observeSuperseded(
  ports: Ports,
  ref: SessionRef,
  superseding: Superseding,
): Promise<void> {
  const { state, edited, cause } = superseding;
  const old = edited.supersedes === null ? undefined : callOf(state, edited.supersedes);
  if (!old || old.supersededBy !== edited.intent || !isEnded(old)) return;
  const of = { ...ref, lane: 'i', intent: edited.intent } as const;
  const [result, proposal] = await Promise.all([
    superseding.observation ??
      ports.log.at(eventSubject({ ...of, type: 'tool.observation' }), edited.observation?.seq ?? 0),
    ports.log.first(eventSubject({ ...of, type: 'tool.intent' })),
  ]);
  if (!result || !isEvent(result, 'tool.observation')) {
    throw new RetryableError('lane_conflict', `the observation of ${edited.intent} cannot be read`);
  }
  const projection = projectSuperseded({
    by: edited.intent,
    result: result.data,
    proposal: proposal && isEvent(proposal, 'tool.intent') ? proposal.data : null,
  });
  const causedBy = { ...cause, id: result.envelope.id };
  await appendObservation(ports, ref, { state, call: old, projection, cause: causedBy });
}

interface Observing {
  readonly state: ConversationState;
  /** The call as it ended. */
  readonly call: CallState;
  readonly projection: Projection;
  readonly cause: Cause;
}

async function appendObservation(ports: Ports, ref: SessionRef, observing: Observing): Promise<void> {
  const { state, call, projection, cause } = observing;
  const { toStore, ...observed } = projection;
  await Promise.all(toStore.map((text) => ports.storeText(ref.tenant, text)));
  const data = { tool: call.tool, ...observed };
  const isAppended = await appendOnLane(ports, ref, {
    state,
    intent: call.intent,
    cause,
    // Unless another has observed it: a stray may have moved the tail, and the end still stands.
    decide: (now) => (now.step?.seq === call.step?.seq ? { type: 'tool.observation', data } : null),
  });
  if (isAppended) ports.metrics.observations.inc({ ending: projection.ending });
}

/** Narrows an event to one that ends a call. */
function endsCall(event: StoredEvent): event is Ending {
  return (
    event.type === 'tool.execution.completed' ||
    event.type === 'tool.validation_failed' ||
    event.type === 'tool.approval.denied' ||
    event.type === 'tool.cancelled'
  );
}
