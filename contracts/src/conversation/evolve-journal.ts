import type { ToolCallPart, Usage } from '../model/v1.ts';
import type { FinishReason } from '../run/v1.ts';
import type { StoredEvent, StoredEventOf } from '../stored-event.ts';
import { callOf, strayTailOf } from './lookup.ts';
import {
  addCost,
  addUsage,
  type CallState,
  type CancelState,
  type ConversationEntry,
  type ConversationState,
  EMPTY_LANE,
  NO_USAGE,
  type RunState,
  type UserEntry,
} from './state.ts';

/** Folds a legal event of the session journal. */
export function evolveJournal(state: ConversationState, event: StoredEvent): ConversationState {
  const { seq, type, envelope } = event;
  const step = { seq, type, id: envelope.id, nonce: envelope.nonce };
  return applyJournal({ ...state, journal: { ...state.journal, step } }, event);
}

function applyJournal(state: ConversationState, event: StoredEvent): ConversationState {
  switch (event.type) {
    case 'run.started':
      return startRun(state, event);
    case 'run.finished':
      return finishRun(state, event);
    case 'model.requested':
      return takeRequest(state, event);
    case 'model.attempt.started': {
      const { attempt, worker } = event.data;
      return {
        ...state,
        request: state.request && { ...state.request, attempt: { number: attempt, worker } },
      };
    }
    case 'model.retrying':
      return {
        ...charge(state, event.data.usage, null),
        request: state.request && { ...state.request, retries: state.request.retries + 1 },
      };
    case 'model.failed':
      return failRequest(state, event);
    case 'model.message':
      return takeMessage(state, event);
    case 'context.compacted':
      return compact(state, event);
    default:
      return state;
  }
}

function startRun(state: ConversationState, event: StoredEventOf<'run.started'>): ConversationState {
  const run: RunState = {
    id: event.envelope.run ?? event.envelope.id,
    number: event.data.number,
    startedSeq: event.seq,
    startedAt: event.envelope.time,
    turn: 0,
    usage: NO_USAGE,
    costUsd: null,
    cutInRow: 0,
    compactions: 0,
    last: null,
    cancel: state.pendingCancel,
    waitedMs: 0,
    waitingSince: null,
  };
  return { ...state, run, pendingCancel: null };
}

function finishRun(state: ConversationState, event: StoredEventOf<'run.finished'>): ConversationState {
  const { run } = state;
  const lastRun = run && { id: run.id, number: run.number, reason: event.data.reason, seq: event.seq };
  // Messages that were considered but never taken (a run cancelled before its first turn) still belong to the conversation.
  const taken = state.pending.filter((entry) => entry.seq <= event.data.throughSeq);
  const pending = state.pending.filter((entry) => entry.seq > event.data.throughSeq);
  return {
    ...state,
    run: null,
    request: null,
    lastRun,
    entries: [...state.entries, ...taken],
    pending,
    pendingCancel: cancelCarriedOver(state, event.data.reason, pending),
  };
}

/** A person's cancel that came as the run was ending by itself is meant for what was said before it as well. */
function cancelCarriedOver(
  state: ConversationState,
  reason: FinishReason,
  pending: readonly UserEntry[],
): CancelState | null {
  const cancel = state.run?.cancel;
  if (cancel?.reason !== 'person' || reason === 'cancelled') return state.pendingCancel;
  return pending.some(({ seq }) => seq < cancel.seq) ? cancel : state.pendingCancel;
}

function takeRequest(state: ConversationState, event: StoredEventOf<'model.requested'>): ConversationState {
  const { run } = state;
  if (!run) return state;
  const { throughSeq, contextSnapshotId, provider, model, tools } = event.data;
  const turn = event.envelope.turn ?? run.turn + 1;
  const taken = state.pending.filter((entry) => entry.seq <= throughSeq);
  return {
    ...state,
    run: { ...run, turn, last: null },
    request: {
      id: event.envelope.id,
      seq: event.seq,
      turn,
      throughSeq,
      contextSnapshotId,
      provider,
      model,
      attempt: null,
      retries: 0,
    },
    tools,
    entries: taken.length > 0 ? [...state.entries, ...taken] : state.entries,
    pending: state.pending.filter((entry) => entry.seq > throughSeq),
  };
}

function charge(state: ConversationState, usage: Usage | null, costUsd: number | null): ConversationState {
  const run = state.run && {
    ...state.run,
    usage: addUsage(state.run.usage, usage),
    costUsd: addCost(state.run.costUsd, costUsd),
  };
  return { ...state, run, usage: addUsage(state.usage, usage), costUsd: addCost(state.costUsd, costUsd) };
}

function failRequest(state: ConversationState, event: StoredEventOf<'model.failed'>): ConversationState {
  const { category, message, usage, costUsd } = event.data;
  const charged = charge(state, usage, costUsd);
  const last = { kind: 'failed', seq: event.seq, id: event.envelope.id, category, message } as const;
  return {
    ...charged,
    request: null,
    scriptUnused: event.data.scriptUnused ?? state.scriptUnused,
    run: charged.run && { ...charged.run, last },
    lastError: { seq: event.seq, code: category, message },
  };
}

function takeMessage(state: ConversationState, event: StoredEventOf<'model.message'>): ConversationState {
  const { request } = state;
  const charged = charge(state, event.data.usage, event.data.costUsd);
  if (!request || !charged.run) return charged;
  const { parts, stop } = event.data;
  const run = charged.run.id;
  const called = parts.some((part) => part.type === 'tool_call' || part.type === 'rejected_call');
  const declared = Object.fromEntries(
    parts
      .filter((part) => part.type === 'tool_call')
      .filter((part) => !callOf(state, part.intent))
      .map((part) => [part.intent, declare(state, part, { run, turn: request.turn })]),
  );
  const strayTails = Object.entries(state.strayTails).filter(([intent]) => !Object.hasOwn(declared, intent));
  const cutInRow = stop === 'max_tokens' && called ? charged.run.cutInRow + 1 : 0;
  const last = { kind: 'message', seq: event.seq, id: event.envelope.id, stop } as const;
  const entry = { kind: 'assistant', seq: event.seq, run, turn: request.turn, parts, stop } as const;
  return {
    ...charged,
    request: null,
    scriptUnused: event.data.scriptUnused ?? state.scriptUnused,
    run: { ...charged.run, last, cutInRow },
    entries: [...state.entries, entry],
    calls: { ...state.calls, ...declared },
    strayTails: Object.fromEntries(strayTails),
  };
}

function declare(
  state: ConversationState,
  { intent, tool }: ToolCallPart,
  { run, turn }: { run: string; turn: number },
): CallState {
  return {
    intent,
    tool,
    readOnly: state.tools.find(({ name }) => name === tool)?.readOnly ?? false,
    proposer: 'model',
    run,
    turn,
    stage: 'declared',
    tail: strayTailOf(state, intent) ?? EMPTY_LANE,
    step: null,
    supersedes: null,
    supersededBy: null,
    asked: null,
    allowed: null,
    claim: null,
    observation: null,
  };
}

/** The summary stands where the range began, and after it the calls that are kept in spite of it. */
function compact(state: ConversationState, event: StoredEventOf<'context.compacted'>): ConversationState {
  const { replaced, summary, kept } = event.data;
  const inRange = (entry: ConversationEntry): boolean =>
    entry.seq >= replaced.fromSeq && entry.seq <= replaced.throughSeq;
  const keptCalls = new Set(kept.map(({ intent }) => intent));
  const from = state.entries.findIndex((entry) => inRange(entry) || entry.seq > replaced.throughSeq);
  const index = from < 0 ? state.entries.length : from;
  const rest = state.entries.slice(index);
  return {
    ...state,
    run: state.run && { ...state.run, compactions: state.run.compactions + 1 },
    entries: [
      ...state.entries.slice(0, index),
      { kind: 'summary', seq: replaced.throughSeq, text: summary },
      ...rest.filter(inRange).flatMap((entry) => onlyCalls(entry, keptCalls)),
      ...rest.filter((entry) => !inRange(entry)),
    ],
    compacted: [...state.compacted, { seq: event.seq, entries: [...state.entries, ...state.pending] }],
  };
}

function onlyCalls(entry: ConversationEntry, calls: ReadonlySet<string>): ConversationEntry[] {
  if (entry.kind !== 'assistant') return [];
  const parts = entry.parts.filter((part) => part.type === 'tool_call' && calls.has(part.intent));
  return parts.length > 0 ? [{ ...entry, parts }] : [];
}
