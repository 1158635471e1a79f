import { callOf, isEvent, parseEventSubject, type StoredEventOf } from '@interlock/contracts';
import { ack, type Delivery, type Fate } from '@interlock/kit';
import { isCancelled, openLane } from './answer.ts';
import { handleAnswer } from './answers.ts';
import { evaluate } from './evaluate.ts';
import {
  type Occasion,
  type Place,
  type PolicyHouse,
  recordAllowed,
  recordAsked,
  recordDenied,
  remind,
} from './record.ts';
import { definitionOf, type Registries } from './registries.ts';
import { laneOf, type PolicyState } from './state.ts';

/** Deliveries about one intent are handled one after another, those of others side by side. */
export function keyOf({ entry, subject }: Delivery): string {
  const address = parseEventSubject(subject);
  const intent = isEvent(entry, 'tool.answer') ? entry.data.intent : address?.intent;
  return address ? `${address.tenant}.${address.session}.${intent ?? ''}` : subject;
}

/**
 * Handles `tool.validated`, `tool.answer` and `undo.requested`.
 * @param startedAt when this service started: time in which nobody listened is not held against a pool
 */
export function createHandler(house: PolicyHouse, startedAt: Date): (delivery: Delivery) => Promise<Fate> {
  return async (delivery) => {
    const { entry } = delivery;
    if (isEvent(entry, 'tool.validated')) return handleValidated(house, delivery, entry);
    if (isEvent(entry, 'tool.answer')) return handleAnswer(house, delivery, entry, startedAt);
    if (isEvent(entry, 'undo.requested')) {
      delivery.logger.warn({ target: entry.data.target }, 'undo is not available yet; nothing is done');
    }
    return ack;
  };
}

/** Decides on a validated call, unless the fold shows that it went on. */
async function handleValidated(
  house: PolicyHouse,
  { seq, traceparent }: Delivery,
  validated: StoredEventOf<'tool.validated'>,
): Promise<Fate> {
  const { tenant, session, intent = '', id } = validated.envelope;
  const { sessions, registries } = house;
  const place = { tenant, session, intent };
  sessions.offer(validated);
  let [state, registry] = await Promise.all([
    sessions.through(tenant, session, seq),
    registries.through(tenant, seq),
  ]);
  for (;;) {
    const step = nextStep(state, place, id);
    if (step.kind === 'remind') await remind(house, place, step.askedId, step.expiresAt);
    if (step.kind !== 'decide') return ack;
    if (await decideOnce(house, { place, state, lane: step.lane, causationid: id, traceparent }, registry))
      return ack;
    state = await sessions.latest(tenant, session);
    registry = await registries.through(tenant, state.throughSeq);
  }
}

type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'remind'; readonly askedId: string; readonly expiresAt: string }
  | { readonly kind: 'decide'; readonly lane: Occasion['lane'] };

function nextStep(state: PolicyState, { intent }: Place, validatedId: string): Step {
  const lane = laneOf(state, intent);
  if (lane?.validated?.envelope.id !== validatedId) return { kind: 'done' };
  const open = openLane(state, intent);
  if (open) {
    // Stored, but perhaps the crash came before its timer was set.
    const { id, causationid } = open.asked.envelope;
    return causationid === validatedId
      ? { kind: 'remind', askedId: id, expiresAt: open.asked.data.expiresAt }
      : { kind: 'done' };
  }
  const undecided = callOf(state.conversation, intent)?.stage === 'validated';
  return undecided && !isCancelled(state, intent) ? { kind: 'decide', lane } : { kind: 'done' };
}

/** True when the decision is stored; false when the lane went on meanwhile. */
async function decideOnce(house: PolicyHouse, occasion: Occasion, known: Registries): Promise<boolean> {
  const { state, lane, place } = occasion;
  const { opened } = state.conversation;
  const call = lane.validated?.data;
  if (!opened || !call) return true;
  let registries = known;
  let definition = definitionOf(registries, call.toolDigest);
  if (!definition) {
    registries = await house.registries.latest(place.tenant);
    definition = definitionOf(registries, call.toolDigest);
  }
  if (!definition) return recordDenied(house, occasion, { ...UNREGISTERED, verdicts: [] });
  const evaluation = await evaluate(house, { state, opened, lane, call, definition, registries });
  const decided = { call, definition, opened, evaluation };
  const { outcome, verdicts } = evaluation;
  switch (outcome.kind) {
    case 'allow':
      return recordAllowed(house, occasion, decided, outcome.by);
    case 'ask':
      return recordAsked(house, occasion, decided, outcome);
    case 'deny': {
      const { rule, reason } = outcome;
      return recordDenied(house, occasion, { kind: 'rule', rule, reason, verdicts });
    }
  }
}

const UNREGISTERED = {
  kind: 'rule',
  rule: null,
  reason: 'The definition of the tool is not in the registry.',
} as const;
