import type { Usage } from '../model/v1.ts';
import type { StoredEvent, StoredEventOf } from '../stored-event.ts';
import {
  addCost,
  addUsage,
  type CallState,
  type ConversationState,
  EMPTY_LANE,
  NO_USAGE,
  type RunState,
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
  return { ...state, run: null, request: null, lastRun, entries: [...state.entries, ...taken], pending };
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
  const calls: Record<string, CallState> = { ...state.calls };
  const strayTails = { ...state.strayTails };
  let called = false;
  for (const part of parts) {
    if (part.type === 'rejected_call') called = true;
    if (part.type !== 'tool_call') continue;
    called = true;
    if (calls[part.intent]) continue;
    const readOnly = state.tools.find((tool) => tool.name === part.tool)?.readOnly ?? false;
    calls[part.intent] = declare(part.intent, part.tool, readOnly, {
      run,
      turn: request.turn,
      tail: strayTails[part.intent],
    });
    delete strayTails[part.intent];
  }
  const cutInRow = stop === 'max_tokens' && called ? charged.run.cutInRow + 1 : 0;
  const last = { kind: 'message', seq: event.seq, id: event.envelope.id, stop } as const;
  const entry = { kind: 'assistant', seq: event.seq, run, turn: request.turn, parts, stop } as const;
  return {
    ...charged,
    request: null,
    scriptUnused: event.data.scriptUnused ?? state.scriptUnused,
    run: { ...charged.run, last, cutInRow },
    entries: [...state.entries, entry],
    calls,
    strayTails,
  };
}

function declare(
  intent: string,
  tool: string,
  readOnly: boolean,
  at: { run: string; turn: number; tail: CallState['tail'] | undefined },
): CallState {
  return {
    intent,
    tool,
    readOnly,
    proposer: 'model',
    run: at.run,
    turn: at.turn,
    stage: 'declared',
    tail: at.tail ?? EMPTY_LANE,
    step: null,
    supersedes: null,
    supersededBy: null,
    asked: null,
    allowed: null,
    claim: null,
    observation: null,
  };
}

function compact(state: ConversationState, event: StoredEventOf<'context.compacted'>): ConversationState {
  const { replaced, summary } = event.data;
  const inRange = (seq: number): boolean => seq >= replaced.fromSeq && seq <= replaced.throughSeq;
  const kept = state.entries.filter((entry) => !inRange(entry.seq));
  const at = kept.findIndex((entry) => entry.seq > replaced.throughSeq);
  const index = at < 0 ? kept.length : at;
  const entry = { kind: 'summary', seq: replaced.throughSeq, text: summary } as const;
  return {
    ...state,
    run: state.run && { ...state.run, compactions: state.run.compactions + 1 },
    entries: [...kept.slice(0, index), entry, ...kept.slice(index)],
  };
}
