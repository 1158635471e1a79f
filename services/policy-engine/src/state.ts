/**
 * What the policy engine folds of a session: the conversation, and of each lane that is not closed the events that a
 * decision rests on. Only what counts in the conversation's own fold counts here, so a forged answer, decision or ask
 * is never seen.
 */
import {
  type ConversationState,
  evolve as evolveConversation,
  initialState as initialConversation,
  type LogEntry,
  type StoredEvent,
  type StoredEventOf,
} from '@interlock/contracts';

/** The events of one intent. */
export interface Lane {
  readonly intent: StoredEventOf<'tool.intent'>;
  readonly validated: StoredEventOf<'tool.validated'> | null;
  /** The newest ask. */
  readonly asked: StoredEventOf<'tool.approval.asked'> | null;
  /** What people said to the newest ask, in stream order. */
  readonly answers: readonly StoredEventOf<'tool.answer'>[];
}

export interface PolicyState {
  readonly throughSeq: number;
  readonly conversation: ConversationState;
  /** By intent; gone once the call is observed. */
  readonly lanes: Readonly<Record<string, Lane>>;
  /** Answers that edit a call, by their id. */
  readonly edits: Readonly<Record<string, StoredEventOf<'tool.answer'>>>;
}

export function initialState(tenant: string, session: string): PolicyState {
  return { throughSeq: 0, conversation: initialConversation(tenant, session), lanes: {}, edits: {} };
}

/** The open lane of an intent; `constructor` is a valid id and no lane. */
export function laneOf({ lanes }: PolicyState, intent: string): Lane | undefined {
  return Object.hasOwn(lanes, intent) ? lanes[intent] : undefined;
}

/** Folds one entry. Pure and total. */
export function evolve(state: PolicyState, entry: LogEntry): PolicyState {
  if (entry.seq <= state.throughSeq) return state;
  const conversation = evolveConversation(state.conversation, entry);
  const at = { ...state, conversation, throughSeq: entry.seq };
  const counts = entry.type !== 'unreadable' && conversation.skipped === state.conversation.skipped;
  return counts ? evolveLanes(at, entry) : at;
}

function evolveLanes(state: PolicyState, event: StoredEvent): PolicyState {
  if (event.type === 'tool.answer') return takeAnswer(state, event);
  const intent = event.envelope.intent ?? '';
  if (event.type === 'tool.intent') {
    return withLane(state, intent, { intent: event, validated: null, asked: null, answers: [] });
  }
  const lane = laneOf(state, intent);
  if (!lane) return state;
  switch (event.type) {
    case 'tool.validated':
      return withLane(state, intent, { ...lane, validated: event });
    case 'tool.approval.asked':
      return withLane(state, intent, { ...lane, asked: event, answers: [] });
    case 'tool.observation':
      return withoutLane(state, intent);
    default:
      return state;
  }
}

function takeAnswer(state: PolicyState, answer: StoredEventOf<'tool.answer'>): PolicyState {
  const { intent, askedId, bindingSha256, verdict } = answer.data;
  const lane = laneOf(state, intent);
  if (answer.authenticity !== 'verified' || !lane?.asked) return state;
  if (lane.asked.envelope.id !== askedId || lane.asked.data.bindingSha256 !== bindingSha256) return state;
  const answered = withLane(state, intent, { ...lane, answers: [...lane.answers, answer] });
  if (verdict !== 'edit') return answered;
  return { ...answered, edits: { ...state.edits, [answer.envelope.id]: answer } };
}

function withLane(state: PolicyState, intent: string, lane: Lane): PolicyState {
  return { ...state, lanes: { ...state.lanes, [intent]: lane } };
}

function withoutLane(state: PolicyState, intent: string): PolicyState {
  const { [intent]: _lane, ...lanes } = state.lanes;
  // An edited call is observed after the one that stands in its place, so the edit is needed no more.
  const edits = Object.fromEntries(
    Object.entries(state.edits).filter(([, { data }]) => data.intent !== intent),
  );
  return { ...state, lanes, edits };
}
