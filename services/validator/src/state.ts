/**
 * What the validator folds of a session: the conversation, and the proposals that are not yet validated. A call that
 * waits behind a barrier keeps its proposal here, so that taking it up later costs no read of its own.
 */
import {
  type ConversationState,
  evolve as evolveConversation,
  initialState as initialConversation,
  isEvent,
  type LogEntry,
  type StoredEventOf,
} from '@interlock/contracts';

export interface ValidatorState {
  readonly throughSeq: number;
  readonly conversation: ConversationState;
  /** By intent, while its call stands at `proposed`. */
  readonly proposals: Readonly<Record<string, StoredEventOf<'tool.intent'>>>;
}

export function initialState(tenant: string, session: string): ValidatorState {
  return { throughSeq: 0, conversation: initialConversation(tenant, session), proposals: {} };
}

/** Folds one entry. Pure and total. */
export function evolve(state: ValidatorState, entry: LogEntry): ValidatorState {
  if (entry.seq <= state.throughSeq) return state;
  const conversation = evolveConversation(state.conversation, entry);
  const counts = conversation.skipped === state.conversation.skipped;
  const proposals = counts ? evolveProposals(state.proposals, entry) : state.proposals;
  return { throughSeq: entry.seq, conversation, proposals };
}

function evolveProposals(
  proposals: ValidatorState['proposals'],
  entry: LogEntry,
): ValidatorState['proposals'] {
  if (entry.type === 'unreadable') return proposals;
  const { intent } = entry.envelope;
  if (intent === undefined) return proposals;
  if (isEvent(entry, 'tool.intent')) return { ...proposals, [intent]: entry };
  if (!Object.hasOwn(proposals, intent)) return proposals;
  const { [intent]: _settled, ...rest } = proposals;
  return rest;
}
