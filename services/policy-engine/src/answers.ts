/** People's answers: checked, decided again with the files and the policy as they are now, and recorded. */
import { type StoredEventOf, tailOf } from '@interlock/contracts';
import { ack, appendAtomic, type Delivery, type Fate, nak } from '@interlock/kit';
import { type Answer, judgeAnswer, type OpenLane } from './answer.ts';
import { withPreflight } from './call.ts';
import { evaluate } from './evaluate.ts';
import { giveGrant } from './give-grant.ts';
import { lookAgain } from './preflight.ts';
import { reconsider } from './reconsider.ts';
import {
  attributesOf,
  type Decided,
  laneAddress,
  type Occasion,
  type PolicyHouse,
  recordAllowed,
  recordAsked,
  recordDenied,
  remind,
} from './record.ts';
import { definitionOf } from './registries.ts';

/** What became of one try: stored, somebody else was first, or the pool is silent. */
type Progress = 'stored' | 'conflict' | 'later';

interface Hand {
  readonly occasion: Occasion & { readonly lane: OpenLane };
  readonly answer: Answer;
  /** From then on a pool that does not answer is unavailable. */
  readonly deadline: Date;
}

/** Handles one answer. What does not count is logged and acked: the log keeps it. */
export async function handleAnswer(
  house: PolicyHouse,
  delivery: Delivery,
  answer: StoredEventOf<'tool.answer'>,
  startedAt: Date,
): Promise<Fate> {
  const { seq, timestamp, traceparent, logger } = delivery;
  const { tenant, session, id } = answer.envelope;
  const { intent, person, askedId } = answer.data;
  const { sessions, config } = house;
  const place = { tenant, session, intent };
  const since = Math.max(timestamp.getTime(), startedAt.getTime());
  const deadline = new Date(since + config.preflightDeadlineMs);
  sessions.offer(answer);
  let state = await sessions.through(tenant, session, seq);
  for (;;) {
    const step = judgeAnswer(state, answer, timestamp);
    if (step.kind === 'done') return ack;
    if (step.kind === 'ignore') {
      logger.warn(
        { code: 'answer_refused', call: intent, askedId, person, why: step.why },
        'an answer does not count',
      );
      return ack;
    }
    if (step.kind === 'remind') {
      await remind(house, place, step.asked.envelope.id, step.asked.data.expiresAt);
      return ack;
    }
    const occasion = { place, state, lane: step.lane, causationid: id, traceparent };
    const progress = await carryOut(house, { occasion, answer, deadline }, step.kind);
    if (progress === 'stored') return ack;
    if (progress === 'later') return nak(config.preflightRetryMs);
    state = await sessions.latest(tenant, session);
  }
}

async function carryOut(
  house: PolicyHouse,
  hand: Hand,
  kind: 'expired' | 'approve' | 'reject' | 'edit',
): Promise<Progress> {
  const { occasion, answer } = hand;
  switch (kind) {
    case 'expired':
      return progressOf(await recordExpired(house, occasion));
    case 'reject': {
      const { person, comment } = answer.data;
      const reason = comment ? `${person} rejected it: ${comment}` : `${person} rejected it.`;
      const verdicts = occasion.lane.asked.data.verdicts;
      const denied = { kind: 'rejected', rule: null, reason, verdicts, person } as const;
      return progressOf(await recordDenied(house, occasion, denied));
    }
    case 'edit':
      return progressOf(await supersede(house, hand));
    case 'approve':
      return approve(house, hand);
  }
}

function progressOf(stored: boolean): Progress {
  return stored ? 'stored' : 'conflict';
}

/** Nobody answered in time. */
export function recordExpired(house: PolicyHouse, occasion: Occasion & { lane: OpenLane }): Promise<boolean> {
  const { expiresAt, verdicts } = occasion.lane.asked.data;
  const reason = `Nobody answered before ${expiresAt}.`;
  return recordDenied(house, occasion, { kind: 'expired', rule: null, reason, verdicts });
}

/** Old call and new one in one batch: whoever dies, there is never one without the other. */
async function supersede(house: PolicyHouse, { occasion, answer }: Hand): Promise<boolean> {
  const { place, state, lane } = occasion;
  const { newIntent = '', input, person, comment } = answer.data;
  const attributes = attributesOf(occasion);
  const reason = comment ? `${person} edited it: ${comment}` : `${person} edited it.`;
  const { tool, provider, model, contextSnapshotId, providerRef, reason: purpose, expect } = lane.intent.data;
  const { verdicts } = lane.asked.data;
  const given = { provider, model, contextSnapshotId, providerRef, reason: purpose, expect };
  const appended = await appendAtomic(house.bus, house.writer, [
    {
      lane: laneAddress(place),
      tail: tailOf(state.conversation, place.intent),
      draft: {
        ...attributes,
        type: 'tool.approval.denied',
        data: { kind: 'superseded', rule: null, reason, verdicts, person, by: newIntent },
      },
    },
    {
      lane: laneAddress({ ...place, intent: newIntent }),
      tail: tailOf(state.conversation, newIntent),
      draft: {
        ...attributes,
        type: 'tool.intent',
        data: {
          ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
          tool,
          rawInput: input,
          inputFormat: 'json',
          proposer: 'person',
          supersedes: { intent: place.intent, answerId: answer.envelope.id, person },
        },
      },
    },
  ]);
  if (appended.ok) for (const entry of appended.entries) house.sessions.offer(entry);
  return appended.ok;
}

async function approve(house: PolicyHouse, { occasion, answer, deadline }: Hand): Promise<Progress> {
  const { state, lane, place } = occasion;
  const { opened } = state.conversation;
  const shown = lane.validated.data;
  const [look, registries] = await Promise.all([
    lookAgain(house.bus, state.conversation, {
      intent: place.intent,
      call: shown,
      timeoutMs: house.config.preflightTimeoutMs,
    }),
    house.registries.through(place.tenant, state.throughSeq),
  ]);
  if (look.kind === 'silence' && house.clock.now() < deadline) return 'later';
  const definition = definitionOf(registries, shown.toolDigest);
  if (look.kind !== 'accepted' || !definition || !opened) {
    const reason = reasonAgainst(look);
    const { verdicts } = lane.asked.data;
    return progressOf(await recordDenied(house, occasion, { kind: 'rule', rule: null, reason, verdicts }));
  }
  const call = withPreflight(shown, look.accepted);
  const evaluation = await evaluate(house, { state, opened, lane, call, definition, registries });
  return progressOf(await conclude(house, occasion, answer, { call, definition, opened, evaluation }));
}

function reasonAgainst(look: { readonly kind: string; readonly why?: string }): string {
  if (look.kind === 'accepted') return 'The definition of the tool is not in the registry.';
  return look.kind === 'silence'
    ? `It was approved, but no executor answered in time to look at the files again (${look.why}).`
    : `It was approved, but it is no longer valid: ${look.why}`;
}

async function conclude(
  house: PolicyHouse,
  occasion: Hand['occasion'],
  answer: Answer,
  decided: Decided,
): Promise<boolean> {
  const asked = occasion.lane.asked.data;
  const conclusion = reconsider(asked, answer, decided.call, decided.evaluation);
  switch (conclusion.kind) {
    case 'allow':
      if (conclusion.by.kind === 'answer') await giveGrant(house, occasion.place, { answer, asked }, decided);
      return recordAllowed(house, occasion, decided, conclusion.by);
    case 'ask':
      return recordAsked(house, occasion, decided, conclusion);
    case 'deny': {
      const { rule, reason } = conclusion;
      const { verdicts } = decided.evaluation;
      return recordDenied(house, occasion, { kind: 'rule', rule, reason, verdicts });
    }
  }
}
