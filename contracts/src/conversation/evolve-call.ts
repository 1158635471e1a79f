import type { StoredEvent, StoredEventOf } from '../stored-event.ts';
import { callOf, strayTailOf } from './lookup.ts';
import type { Baseline, CallState, ConversationState, LaneTail } from './state.ts';
import { EMPTY_LANE } from './state.ts';

/** Folds a legal event of an intent's journal. */
export function evolveCall(state: ConversationState, event: StoredEvent): ConversationState {
  const intent = event.envelope.intent ?? '';
  const known = callOf(state, intent);
  if (event.type === 'tool.intent') return propose(state, intent, known, event);
  if (!known) return state;
  const { seq, type, envelope } = event;
  const call = { ...known, step: { seq, type, id: envelope.id, nonce: envelope.nonce } };
  const next = { ...state, calls: { ...state.calls, [intent]: advance(call, event) } };
  return event.type === 'tool.execution.completed' ? rememberReads(next, event) : next;
}

/** Notes the first answer to the ask that is open; any other ask ignores it. */
export function noteAnswer(state: ConversationState, event: StoredEventOf<'tool.answer'>): ConversationState {
  const call = callOf(state, event.data.intent);
  const asked = call?.asked;
  if (!call || !asked || call.stage !== 'asked' || asked.answer) return state;
  if (asked.id !== event.data.askedId || asked.bindingSha256 !== event.data.bindingSha256) return state;
  const answered = { ...call, asked: { ...asked, answer: { seq: event.seq, id: event.envelope.id } } };
  return { ...state, calls: { ...state.calls, [call.intent]: answered } };
}

/** Moves the tail of an intent's lane, whether a call of that id is known or not. */
export function withCallTail(state: ConversationState, intent: string, tail: LaneTail): ConversationState {
  const call = callOf(state, intent);
  if (call) return { ...state, calls: { ...state.calls, [intent]: { ...call, tail } } };
  return { ...state, strayTails: { ...state.strayTails, [intent]: tail } };
}

function advance(call: CallState, event: StoredEvent): CallState {
  switch (event.type) {
    case 'tool.validated':
      return { ...call, stage: 'validated' };
    case 'tool.validation_failed':
      return { ...call, stage: 'invalid' };
    case 'tool.approval.asked': {
      const { bindingSha256, expiresAt } = event.data;
      return {
        ...call,
        stage: 'asked',
        asked: { id: event.envelope.id, seq: event.seq, bindingSha256, expiresAt, answer: null },
      };
    }
    case 'tool.approval.allowed': {
      const { pool, expiresAt } = event.data.invocation;
      return { ...call, stage: 'allowed', allowed: { seq: event.seq, pool, expiresAt } };
    }
    case 'tool.approval.denied':
      return { ...call, stage: 'denied', supersededBy: event.data.by ?? null };
    case 'tool.cancelled':
      return { ...call, stage: 'cancelled' };
    case 'tool.execution.started': {
      const { pool, worker, epoch, leaseUntil } = event.data;
      return { ...call, stage: 'started', claim: { seq: event.seq, pool, worker, epoch, leaseUntil } };
    }
    case 'tool.execution.completed':
      return { ...call, stage: 'completed' };
    case 'tool.observation': {
      const { ending, isError, parts } = event.data;
      return { ...call, stage: 'observed', observation: { seq: event.seq, ending, isError, parts } };
    }
    default:
      return call;
  }
}

function propose(
  state: ConversationState,
  intent: string,
  known: CallState | undefined,
  event: StoredEventOf<'tool.intent'>,
): ConversationState {
  const { seq, envelope, type, data } = event;
  const step = { seq, type, id: envelope.id, nonce: envelope.nonce };
  if (known) return { ...state, calls: { ...state.calls, [intent]: { ...known, stage: 'proposed', step } } };
  const standsFor = data.supersedes ? callOf(state, data.supersedes.intent) : undefined;
  const call: CallState = {
    intent,
    tool: data.tool,
    readOnly: standsFor?.readOnly ?? false,
    proposer: data.proposer,
    run: standsFor?.run ?? null,
    turn: standsFor?.turn ?? null,
    stage: 'proposed',
    tail: strayTailOf(state, intent) ?? EMPTY_LANE,
    step,
    supersedes: standsFor?.intent ?? null,
    supersededBy: null,
    asked: null,
    allowed: null,
    claim: null,
    observation: null,
  };
  const { [intent]: _moved, ...strayTails } = state.strayTails;
  return { ...state, calls: { ...state.calls, [intent]: call }, strayTails };
}

function rememberReads(
  state: ConversationState,
  event: StoredEventOf<'tool.execution.completed'>,
): ConversationState {
  if (event.data.reads.length === 0) return state;
  const { seq } = event;
  const seen = event.data.reads.map(({ path, sha256, range }): [string, Baseline] => [
    path,
    { sha256, range, seq },
  ]);
  return { ...state, baselines: { ...state.baselines, ...Object.fromEntries(seen) } };
}
