/** Look-ups by an id from outside: `constructor` is a valid id and no call. */
import type { CallState, ConversationState, LaneTail } from './state.ts';
import { EMPTY_LANE } from './state.ts';

/** The call of an intent; undefined when the session has none of that id. */
export function callOf(state: ConversationState, intent: string): CallState | undefined {
  return Object.hasOwn(state.calls, intent) ? state.calls[intent] : undefined;
}

/** Tail of an intent's lane, known or not. */
export function tailOf(state: ConversationState, intent: string): LaneTail {
  return callOf(state, intent)?.tail ?? strayTailOf(state, intent) ?? EMPTY_LANE;
}

/** Tail of a lane that holds nothing legal. */
export function strayTailOf(state: ConversationState, intent: string): LaneTail | undefined {
  return Object.hasOwn(state.strayTails, intent) ? state.strayTails[intent] : undefined;
}
