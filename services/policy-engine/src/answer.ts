/**
 * What a person's answer means for the ask that is open. Pure.
 *
 * A1. An answer counts for the very ask it names, by id and by hash; any other ask ignores it.
 * A2. Whoever proposed may not approve; where a rule names approvers, nobody else may.
 * A3. Of several that stand, the first stored wins; one that does not stand never blocks one that does.
 * A4. What was stored before the expiry is in time, whenever it is handled.
 */
import { callOf, type StoredEventOf } from '@interlock/contracts';
import { canonicalJson } from '@interlock/kit/pure';
import { mayAnswer } from './decide.ts';
import { type Lane, laneOf, type PolicyState } from './state.ts';

export type Answer = StoredEventOf<'tool.answer'>;

export type AnswerStep =
  /** The answer takes no part. */
  | { readonly kind: 'ignore'; readonly why: string }
  /** The call went on already; nothing is left to do. */
  | { readonly kind: 'done' }
  /** The ask that this very answer led to is open: its timer may be missing. */
  | { readonly kind: 'remind'; readonly asked: StoredEventOf<'tool.approval.asked'> }
  | { readonly kind: 'expired' | 'approve' | 'reject' | 'edit'; readonly lane: OpenLane };

/** A lane with an open ask. */
export interface OpenLane extends Lane {
  readonly validated: StoredEventOf<'tool.validated'>;
  readonly asked: StoredEventOf<'tool.approval.asked'>;
}

/** The lane of a call whose ask is open; null for any other. */
export function openLane(state: PolicyState, intent: string): OpenLane | null {
  const lane = laneOf(state, intent);
  if (callOf(state.conversation, intent)?.stage !== 'asked' || !lane?.asked || !lane.validated) return null;
  return { ...lane, asked: lane.asked, validated: lane.validated };
}

/** True when the run of the call is being cancelled: the observer withdraws it, nobody decides on it any more. */
export function isCancelled({ conversation }: PolicyState, intent: string): boolean {
  const { run } = conversation;
  return run?.cancel != null && callOf(conversation, intent)?.run === run.id;
}

/** @param storedAt when the stream took the answer in */
export function judgeAnswer(state: PolicyState, answer: Answer, storedAt: Date): AnswerStep {
  const { intent, askedId, bindingSha256, verdict } = answer.data;
  if (answer.authenticity !== 'verified') return ignore('it is not signed by the person it names');
  const lane = openLane(state, intent);
  if (lane && lane.asked.envelope.causationid === answer.envelope.id)
    return { kind: 'remind', asked: lane.asked };
  if (!laneOf(state, intent)?.asked) return ignore('there is no such ask');
  if (!lane || isCancelled(state, intent)) return { kind: 'done' };
  if (lane.asked.envelope.id !== askedId || lane.asked.data.bindingSha256 !== bindingSha256) {
    return ignore('it answers another ask');
  }
  const why = objectionTo(state, lane, answer);
  if (why !== null) return ignore(why);
  if (firstStanding(state, lane)?.envelope.id !== answer.envelope.id)
    return ignore('somebody answered before');
  if (storedAt.getTime() >= Date.parse(lane.asked.data.expiresAt)) return { kind: 'expired', lane };
  return { kind: verdict, lane };
}

/** The first answer to the open ask that stands; null for none. */
export function firstStanding(state: PolicyState, lane: OpenLane): Answer | null {
  return lane.answers.find((answer) => objectionTo(state, lane, answer) === null) ?? null;
}

function objectionTo(state: PolicyState, lane: OpenLane, answer: Answer): string | null {
  const { person, verdict, newIntent, input } = answer.data;
  const proposer = lane.intent.data.supersedes?.person ?? null;
  if (!mayAnswer(lane.asked.data.approvers, person, proposer)) return `${person} may not answer this ask`;
  if (verdict !== 'edit') return null;
  if (newIntent === undefined || input === undefined) return 'an edit needs a new intent and its input';
  return callOf(state.conversation, newIntent) ? 'the new intent of the edit exists already' : null;
}

/** The answer that made a call by editing another, when all of the call is what the person signed. */
export function editBehind(state: PolicyState, lane: Lane): { answerId: string; person: string } | null {
  const { supersedes, proposer, rawInput, tool } = lane.intent.data;
  const answer = supersedes && state.edits[supersedes.answerId];
  if (!answer || proposer !== 'person') return null;
  const { person, intent, newIntent, input } = answer.data;
  const fits =
    person === supersedes.person &&
    intent === supersedes.intent &&
    newIntent === lane.intent.envelope.intent &&
    callOf(state.conversation, intent)?.tool === tool &&
    canonicalJson(input) === canonicalJson(rawInput);
  return fits ? { answerId: answer.envelope.id, person } : null;
}

function ignore(why: string): AnswerStep {
  return { kind: 'ignore', why };
}
