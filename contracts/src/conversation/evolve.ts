/**
 * `evolve(state, entry)`: the one fold of a session. Pure and total: whatever comes, it returns a state; what does not
 * count moves only the tail of its lane.
 */
import { EVENTS } from '../registry.ts';
import type { LogEntry, StoredEvent } from '../stored-event.ts';
import { type EventAddress, parseEventSubject } from '../subjects.ts';
import { evolveCall, noteAnswer, withCallTail } from './evolve-call.ts';
import { evolveJournal } from './evolve-journal.ts';
import { judge } from './judge.ts';
import { isWaitingForPeople, openCalls } from './schedule.ts';
import type { ConversationState, LaneTail, RunState, SessionStatus } from './state.ts';

/** Folds one entry of the session. Entries must come in stream order; an entry at or before `throughSeq` is ignored. */
export function evolve(state: ConversationState, entry: LogEntry): ConversationState {
  if (entry.seq <= state.throughSeq) return state;
  const address = parseEventSubject(entry.subject);
  const at = { ...state, throughSeq: entry.seq };
  if (address?.tenant !== state.tenant || address.session !== state.session) return at;
  if (entry.type === 'unreadable') return moveTail({ ...at, skipped: at.skipped + 1 }, address, entry);
  if (!judge(state, entry).legal) return moveTail({ ...at, skipped: at.skipped + 1 }, address, entry);
  return settle(state, moveTail(apply(at, entry), address, entry), entry);
}

/** Folds entries in order. */
export function fold(state: ConversationState, entries: Iterable<LogEntry>): ConversationState {
  let next = state;
  for (const entry of entries) next = evolve(next, entry);
  return next;
}

function apply(state: ConversationState, event: StoredEvent): ConversationState {
  switch (EVENTS[event.type].lane) {
    case 'u':
      return evolveInbox({ ...state, inbox: { ...state.inbox, [event.envelope.id]: event.seq } }, event);
    case 's':
      return evolveJournal(state, event);
    case 'i':
      return evolveCall(state, event);
    case 'x':
    case 'sys':
      return state;
  }
}

function moveTail(state: ConversationState, address: EventAddress, entry: LogEntry): ConversationState {
  const tail: LaneTail = { seq: entry.seq, hash: entry.hash };
  if (address.lane === 's') return { ...state, journal: { ...state.journal, tail } };
  return address.lane === 'i' ? withCallTail(state, address.intent ?? '', tail) : state;
}

function evolveInbox(state: ConversationState, event: StoredEvent): ConversationState {
  switch (event.type) {
    case 'session.opened':
      return { ...state, opened: { ...event.data, seq: event.seq, at: event.envelope.time } };
    case 'session.closed':
      return { ...state, closed: true };
    case 'user.message': {
      const { text, attachments, person } = event.data;
      const entry = {
        kind: 'user',
        seq: event.seq,
        id: event.envelope.id,
        text,
        attachments,
        person,
      } as const;
      return { ...state, pending: [...state.pending, entry] };
    }
    case 'tool.answer':
      return noteAnswer(state, event);
    case 'run.cancel': {
      const cancel = { seq: event.seq, id: event.envelope.id, reason: event.data.reason, by: event.data.by };
      if (state.run) {
        const meant = event.data.run === undefined || event.data.run === state.run.id;
        return meant && !state.run.cancel ? { ...state, run: { ...state.run, cancel } } : state;
      }
      // Sent right after a message whose run has not begun: it is meant for that run.
      return state.pending.length > 0 && event.data.run === undefined
        ? { ...state, pendingCancel: cancel }
        : state;
    }
    default:
      return state;
  }
}

/** Derives what follows from the whole: the status, and the time spent waiting for people. */
function settle(before: ConversationState, after: ConversationState, event: StoredEvent): ConversationState {
  const status = statusOf(after);
  const run = after.run && clockWaiting(after.run, status === 'waiting_for_approval', event.envelope.time);
  return status === before.status && run === after.run && after.status === status
    ? after
    : { ...after, status, run };
}

function clockWaiting(run: RunState, waiting: boolean, now: string): RunState {
  if (waiting === (run.waitingSince !== null)) return run;
  if (waiting) return { ...run, waitingSince: now };
  const waited = Math.max(0, Date.parse(now) - Date.parse(run.waitingSince ?? now));
  return { ...run, waitingSince: null, waitedMs: run.waitedMs + waited };
}

function statusOf(state: ConversationState): SessionStatus {
  if (state.run) {
    if (openCalls(state).length === 0) return 'running';
    return isWaitingForPeople(state) ? 'waiting_for_approval' : 'waiting_for_tool';
  }
  // In a closed session nothing more will take what was said last.
  if (state.pending.length > 0 && !state.closed) return 'running';
  if (!state.lastRun) return 'idle';
  if (state.lastRun.reason === 'completed') return 'completed';
  return state.lastRun.reason === 'cancelled' ? 'idle' : 'failed';
}
