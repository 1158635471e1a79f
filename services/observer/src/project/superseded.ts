import type { ToolIntentV1, ToolObservationV1 } from '@interlock/contracts';
import { canonicalJson } from '@interlock/kit/pure';
import { clip } from './bytes.ts';
import { plain } from './facts.ts';
import { fact, type Projection } from './projection.ts';

const INPUT_BYTES = 2048;

export interface Substitute {
  /** The intent that stands in the call's place. */
  readonly by: string;
  readonly result: ToolObservationV1;
  /** How it was proposed; null when that cannot be read. */
  readonly proposal: ToolIntentV1 | null;
}

/** A person put another call in the place of this one: the model is told which, and gets that one's result. */
export function projectSuperseded({ by, result, proposal }: Substitute): Projection {
  const { tool: _tool, ...observed } = result;
  const person = proposal?.supersedes?.person;
  const who = person === undefined ? 'A person' : plain(person, 100);
  const opening = [
    fact(`${who} edited this call. It did not run as proposed; the edited one (${by}) stands in its place.`),
  ];
  if (proposal) {
    const input =
      typeof proposal.rawInput === 'string' ? proposal.rawInput : canonicalJson(proposal.rawInput ?? null);
    opening.push(fact(`Edited input: ${clip(input, INPUT_BYTES)}`));
  }
  return {
    ...observed,
    parts: [...opening, fact('What follows is the result of the edited call.'), ...result.parts],
    insteadOf: by,
    toStore: [],
  };
}
