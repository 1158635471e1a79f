/** The last answer of a run in words, and what it rests on. Pure. */
import type { ConversationState } from '@interlock/contracts';

/** Text of the model's last message of the last run; empty when it said nothing. */
export function finalText(state: ConversationState): string {
  const last = state.entries.findLast((entry) => entry.kind === 'assistant');
  if (last?.kind !== 'assistant') return '';
  return last.parts
    .flatMap((part) => (part.type === 'text' || part.type === 'refusal' ? [part.text] : []))
    .join('');
}

/** What the observations of a run amount to. */
export interface Grounds {
  readonly observations: number;
  readonly byEnding: Readonly<Record<string, number>>;
}

export function groundsOf(state: ConversationState, run: string): Grounds {
  const byEnding: Record<string, number> = {};
  let observations = 0;
  for (const call of Object.values(state.calls)) {
    if (call.run !== run || !call.observation) continue;
    observations += 1;
    byEnding[call.observation.ending] = (byEnding[call.observation.ending] ?? 0) + 1;
  }
  return { observations, byEnding };
}
