/**
 * Whether an event counts. Journals are strict state machines: what does not follow is a stray, skipped by every fold
 * and quarantined by the event-store.
 *
 * J1. An entry of a journal counts only when it chains to the tail of its lane, strays included.
 * J2. A signed type counts only when its signature is not forged.
 * J3. Executed means allowed before: `started` follows `allowed` and nothing else.
 * J4. A completed execution names the claim it belongs to; only a refusal has none.
 * J5. Only the pool that a permit names claims it and tells what came of it.
 * J6. A call is superseded by an intent that does not exist yet, so what stands for what never runs in a circle.
 */
import type { ErrorCode } from '../errors.ts';
import { EVENTS } from '../registry.ts';
import type { StoredEvent, StoredEventOf } from '../stored-event.ts';
import { parseEventSubject } from '../subjects.ts';
import { callOf, tailOf } from './lookup.ts';
import type { CallState, ConversationState, OpenRequest, Stage } from './state.ts';

export type Judgement =
  | { readonly legal: true }
  | { readonly legal: false; readonly code: ErrorCode; readonly reason: string };

const LEGAL: Judgement = { legal: true };
const stray = (code: ErrorCode, reason: string): Judgement => ({ legal: false, code, reason });

/** Judges an event against the state before it. Total. */
export function judge(state: ConversationState, event: StoredEvent): Judgement {
  if (EVENTS[event.type].signed && event.authenticity === 'forged') {
    return stray('bad_signature', `${event.type} is not signed by who may sign it`);
  }
  const { lane } = EVENTS[event.type];
  if (lane === 'u') return judgeInbox(state, event);
  if (lane === 'x' || lane === 'sys') return LEGAL;
  const tail = lane === 's' ? state.journal.tail : tailOf(state, event.envelope.intent ?? '');
  if (event.envelope.prevseq !== tail.seq || event.envelope.prevhash !== tail.hash) {
    return stray(
      'chain_broken',
      `chains to ${event.envelope.prevseq ?? 'nothing'}, the lane ends at ${tail.seq}`,
    );
  }
  const why = lane === 's' ? journalError(state, event) : intentError(state, event);
  return why === null ? LEGAL : stray('illegal_transition', why);
}

function judgeInbox(state: ConversationState, event: StoredEvent): Judgement {
  if (Object.hasOwn(state.inbox, event.envelope.id))
    return stray('illegal_transition', 'a repeat of an inbox event');
  if (event.type === 'session.opened') {
    return state.opened ? stray('illegal_transition', 'the session is open already') : LEGAL;
  }
  if (!state.opened) return stray('illegal_transition', 'the session was never opened');
  // A run that was under way goes on: it can still be answered and cancelled.
  if (state.closed && event.type !== 'tool.answer' && event.type !== 'run.cancel') {
    return stray('illegal_transition', 'the session is closed');
  }
  return LEGAL;
}

function journalError(state: ConversationState, event: StoredEvent): string | null {
  const { run, request } = state;
  if (event.type === 'run.started') {
    if (!state.opened) return 'the session was never opened';
    return run ? 'a run is under way' : null;
  }
  if (!run || event.envelope.run !== run.id) return 'it belongs to no run that is under way';
  switch (event.type) {
    case 'run.finished':
      return null;
    case 'model.requested':
      return request ? 'a request is open' : null;
    case 'context.compacted':
      if (request) return 'a request is open';
      return event.data.replaced.throughSeq < event.seq ? null : 'it replaces what is yet to come';
    case 'model.attempt.started':
    case 'model.retrying':
    case 'model.failed':
    case 'model.message':
      return request ? attemptError(request, event) : 'no request is open';
    default:
      return `${event.type} does not belong in the session journal`;
  }
}

function attemptError(request: OpenRequest, event: StoredEvent): string | null {
  const newest = request.attempt?.number ?? 0;
  if (event.type === 'model.attempt.started')
    return event.data.attempt > newest ? null : 'the attempt is not a new one';
  if (event.type === 'model.message')
    return event.data.attempt === newest ? null : 'it answers an attempt that is not the newest';
  return null;
}

/** The stages from which a type may follow. */
const FROM: Partial<Record<StoredEvent['type'], readonly Stage[]>> = {
  'tool.intent': ['declared'],
  'tool.validated': ['proposed'],
  'tool.validation_failed': ['proposed'],
  'tool.approval.asked': ['validated', 'asked'],
  'tool.approval.allowed': ['validated', 'asked'],
  'tool.approval.denied': ['validated', 'asked'],
  'tool.cancelled': ['declared', 'proposed', 'validated', 'asked', 'allowed'],
  'tool.execution.started': ['allowed', 'started'],
  'tool.execution.completed': ['allowed', 'started'],
  'tool.observation': ['invalid', 'denied', 'cancelled', 'completed'],
};

function intentError(state: ConversationState, event: StoredEvent): string | null {
  const call = callOf(state, event.envelope.intent ?? '');
  if (!call) return event.type === 'tool.intent' ? undeclaredError(state, event) : UNDECLARED;
  if (!FROM[event.type]?.includes(call.stage)) return `${event.type} does not follow ${call.stage}`;
  switch (event.type) {
    case 'tool.intent':
      return event.data.tool === call.tool ? null : 'the model called another tool';
    case 'tool.approval.denied':
      return event.data.by !== undefined && callOf(state, event.data.by)
        ? 'the intent that would stand in its place exists already'
        : null;
    case 'tool.execution.started':
      return poolError(call, event) ?? claimError(call, event.data.epoch);
    case 'tool.execution.completed':
      return poolError(call, event) ?? factError(call, event.data.outcome, event.data.claimSeq);
    default:
      return null;
  }
}

const UNDECLARED = 'no message of the model declares this call';

/** A person's intent either stands in the place of a call that names it, or is an undo of its own. */
function undeclaredError(state: ConversationState, event: StoredEventOf<'tool.intent'>): string | null {
  const { proposer, supersedes } = event.data;
  if (proposer !== 'person') return UNDECLARED;
  if (supersedes === undefined) return null;
  const named = callOf(state, supersedes.intent)?.supersededBy;
  return named === event.envelope.intent ? null : 'the call it stands for does not name it';
}

function poolError(call: CallState, event: StoredEvent): string | null {
  const pool = parseEventSubject(event.subject)?.pool;
  return pool === call.allowed?.pool
    ? null
    : `the permit is for the pool ${call.allowed?.pool ?? 'of nobody'}`;
}

function claimError(call: CallState, epoch: number): string | null {
  const expected = call.stage === 'allowed' ? 1 : (call.claim?.epoch ?? 0) + 1;
  return epoch === expected ? null : `claim ${epoch} where ${expected} is next`;
}

function factError(call: CallState, outcome: string, claimSeq: number | null): string | null {
  if (call.stage === 'allowed') return outcome === 'refused' ? null : 'nothing was claimed';
  return outcome !== 'refused' && claimSeq === call.claim?.seq
    ? null
    : 'it does not belong to the claim in force';
}
