/**
 * The schedule of a turn, from the log alone.
 *
 * Consecutive calls whose registered tool is read-only form one group that runs side by side; every other call is a
 * barrier on both sides. Decided from the tool as it was shown to the model, never from the input.
 */
import { callOf } from './lookup.ts';
import type { AssistantEntry, CallState, ConversationState } from './state.ts';

/** The last message of the model in the run under way; null before the first. */
export function currentMessage(state: ConversationState): AssistantEntry | null {
  if (!state.run) return null;
  const last = state.entries.findLast((entry) => entry.kind === 'assistant');
  return last?.kind === 'assistant' && last.run === state.run.id ? last : null;
}

/** The calls of the current turn in the order proposed, each as it was declared. */
export function declaredCalls(state: ConversationState): readonly CallState[] {
  const message = currentMessage(state);
  if (!message) return [];
  return message.parts.flatMap((part) => {
    const call = part.type === 'tool_call' ? callOf(state, part.intent) : undefined;
    return call ? [call] : [];
  });
}

/** The call that stands in a call's place: itself, or the last edit of it. */
export function standing(state: ConversationState, call: CallState): CallState {
  let at = call;
  while (at.supersededBy !== null) {
    const next = callOf(state, at.supersededBy);
    if (!next) return at;
    at = next;
  }
  return at;
}

/** Calls of the current turn without an observation, edits in the place of what they edit. */
export function openCalls(state: ConversationState): readonly CallState[] {
  return declaredCalls(state)
    .map((call) => ({ call, stands: standing(state, call) }))
    .filter(({ call, stands }) => call.stage !== 'observed' || stands.stage !== 'observed')
    .map(({ stands }) => stands);
}

/**
 * Open calls that may go on now; the others wait for these. Of the run none once it is cancelled; a person's undo
 * belongs to no run and goes on.
 */
export function runnable(state: ConversationState): readonly CallState[] {
  const detached = Object.values(state.calls)
    .filter((call) => call.proposer === 'person' && call.supersedes === null && call.stage !== 'observed')
    .map((call) => standing(state, call));
  return [...detached, ...going(state)];
}

function going(state: ConversationState): readonly CallState[] {
  return state.run?.cancel ? [] : group(state);
}

function group(state: ConversationState): readonly CallState[] {
  const open = new Set(openCalls(state));
  const calls = declaredCalls(state).map((call) => standing(state, call));
  const first = calls.findIndex((call) => open.has(call));
  if (first < 0) return [];
  if (!calls[first]?.readOnly) return calls.slice(first, first + 1);
  const end = calls.findIndex((call, index) => index > first && !call.readOnly);
  return calls.slice(first, end < 0 ? calls.length : end).filter((call) => open.has(call));
}

/** True when the run can only go on after a person's answer. */
export function isWaitingForPeople(state: ConversationState): boolean {
  const calls = going(state);
  return calls.length > 0 && calls.every((call) => call.stage === 'asked');
}
