/**
 * A message was quarantined: does something that was due still come?
 *
 * Strays. Every fold skips a stray and moves the lane's tail; the writer of the next legal step meets a conflict, folds
 * again and appends behind it. So a stray alone stops nobody, and nothing is done about it, with two exceptions.
 *
 * Q1. The message is itself the last legal step of its lane: a dead letter. Whoever was to act on it gave it up, so
 *     nothing will follow. An unclaimed call is withdrawn at once; an ended one is observed; an open request is lost.
 *     An observation frees calls that wait: those that nobody has taken up `graceMs` later are withdrawn.
 * Q2. Folds differ on it: its writer may hold it for its own legal step and be done, while others skip it. That is so
 *     for a decision with a bad signature (whoever decides does not check its own earlier decisions; an `asked` it does
 *     check) and for what this house's readers cannot read (a newer writer can). When no legal step has come since,
 *     for `graceMs`, an unclaimed call is withdrawn, and a request whose answer cannot be read is lost. A call whose
 *     permit is in force is left alone: an executor takes it up, or it expires.
 * Q3. A claimed call is never touched here: its holder appends its fact behind the stray, and if there is no holder the
 *     watch ends it when the lease lapses.
 */
import {
  type CallState,
  type ConversationState,
  callOf,
  type EventAddress,
  type EventQuarantinedV1,
  openCalls,
  parseEventSubject,
  runnable,
} from '@interlock/contracts';
import { isEnded, isUnclaimed } from './stopping.ts';

export type Remedy =
  /** Nothing is wrong; the journal is looked at again, in case the dead letter was the observer's own. */
  | { readonly kind: 'advance' }
  /** It is too early to say. */
  | { readonly kind: 'wait' }
  /** Calls that nobody will go on with. */
  | { readonly kind: 'withdraw'; readonly intents: readonly string[]; readonly why: string }
  /** A call that has ended and was not observed. */
  | { readonly kind: 'observe'; readonly call: CallState }
  /** The request has no answer that counts, and will get none. */
  | { readonly kind: 'lost'; readonly requestId: string; readonly why: string };

const advance: Remedy = { kind: 'advance' };

/** Judges a quarantined message against the session as it is now. Pure. */
export function judgeQuarantine(state: ConversationState, data: EventQuarantinedV1, isLate: boolean): Remedy {
  const address = parseEventSubject(data.subject);
  if (!address) return advance;
  const remedy = address.lane === 'i' ? judgeCall(state, address, data) : judgeJournal(state, address, data);
  if (!remedy) return advance;
  return remedy.atOnce || isLate ? remedy.remedy : { kind: 'wait' };
}

interface Finding {
  readonly remedy: Remedy;
  readonly atOnce: boolean;
}

function judgeCall(
  state: ConversationState,
  address: EventAddress,
  data: EventQuarantinedV1,
): Finding | null {
  const call = callOf(state, address.intent ?? '');
  if (!call) return null;
  const isLastStep = call.step?.seq === data.seq;
  if (isEnded(call)) return isLastStep ? { remedy: { kind: 'observe', call }, atOnce: true } : null;
  if (call.stage === 'observed') return isLastStep ? freedByNobody(state, data) : null;
  if (!isUnclaimed(call)) return null;
  const why = `The call cannot go on: ${address.type} was put aside (${data.code}: ${data.reason}).`;
  const remedy = { kind: 'withdraw', intents: [call.intent], why } as const;
  if (isLastStep) return { remedy, atOnce: true };
  const hasGoneOn = (call.step?.seq ?? 0) > data.seq;
  return !hasGoneOn && foldsDiffer(address.type, data.code) && isDueFrom(address.type, call)
    ? { remedy, atOnce: false }
    : null;
}

/** Who takes up the calls that an observation frees gave that observation up. */
function freedByNobody(state: ConversationState, { code, reason }: EventQuarantinedV1): Finding | null {
  const intents = runnable(state)
    .filter((call) => call.stage === 'proposed')
    .map((call) => call.intent);
  if (intents.length === 0) return null;
  const why = `The call was not taken up: the observation before it was put aside (${code}: ${reason}).`;
  return { remedy: { kind: 'withdraw', intents, why }, atOnce: false };
}

const UNREADABLE: ReadonlySet<string> = new Set([
  'unreadable_event',
  'unknown_type',
  'unknown_version',
  'artifact_unavailable',
]);
const DECISIONS: ReadonlySet<string> = new Set(['tool.approval.allowed', 'tool.approval.denied']);

function foldsDiffer(type: string, code: string): boolean {
  return UNREADABLE.has(code) || (code === 'bad_signature' && DECISIONS.has(type));
}

/** The step that its writer may believe to have made is one that was due. */
function isDueFrom(type: string, { stage }: CallState): boolean {
  switch (stage) {
    case 'declared':
      return type === 'tool.intent';
    case 'proposed':
      return type === 'tool.validated' || type === 'tool.validation_failed';
    case 'validated':
    case 'asked':
      return type.startsWith('tool.approval.');
    default:
      return false;
  }
}

function judgeJournal(
  state: ConversationState,
  address: EventAddress,
  data: EventQuarantinedV1,
): Finding | null {
  const { request } = state;
  const why = `${address.type} was put aside (${data.code}: ${data.reason})`;
  if (request) {
    const remedy = { kind: 'lost', requestId: request.id, why } as const;
    if (request.seq === data.seq) return { remedy, atOnce: true };
    const isAnswer = address.type === 'model.message' || address.type === 'model.failed';
    const hasGoneOn = (state.journal.step?.seq ?? 0) > data.seq;
    return isAnswer && request.seq < data.seq && !hasGoneOn && UNREADABLE.has(data.code)
      ? { remedy, atOnce: false }
      : null;
  }
  // The gateway answered and then gave the request up: intents it has not derived never come.
  if (address.type !== 'model.requested' || !isRequestOfLastMessage(state, data.seq)) return null;
  const underived = openCalls(state).filter((call) => call.stage === 'declared');
  if (underived.length === 0) return null;
  const intents = underived.map((call) => call.intent);
  return { remedy: { kind: 'withdraw', intents, why: `The call was never proposed: ${why}.` }, atOnce: true };
}

function isRequestOfLastMessage(state: ConversationState, seq: number): boolean {
  const messages = state.entries.filter((entry) => entry.kind === 'assistant');
  return seq < (messages.at(-1)?.seq ?? 0) && seq > (messages.at(-2)?.seq ?? 0);
}
