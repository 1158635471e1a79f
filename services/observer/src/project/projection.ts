import type { ObservationPart, ToolObservationV1 } from '@interlock/contracts';

/** An observation before it is appended. */
export interface Projection extends Omit<ToolObservationV1, 'tool'> {
  /** Texts that the parts name as artifacts and that nobody has stored yet. */
  readonly toStore: readonly string[];
}

export interface ProjectOptions {
  /** The tool is registered as read-only, so that what it changed is no question. */
  readonly readOnly: boolean;
  /** Bytes of text that all parts may have together; at least 8192. */
  readonly budgetBytes: number;
}

export const fact = (text: string): ObservationPart => ({ label: 'fact', text });
export const suggestion = (text: string): ObservationPart => ({ label: 'suggestion', text });
export const untrusted = (text: string): ObservationPart => ({ label: 'untrusted', text });

/** A projection of a call of which nothing ran: no output, nothing left out. */
export function nothingRan(
  ending: Projection['ending'],
  code: Projection['code'],
  parts: readonly ObservationPart[],
): Projection {
  return {
    ending,
    ...(code === undefined ? {} : { code }),
    isError: true,
    parts: [...parts],
    omittedBytes: 0,
    artifacts: [],
    toStore: [],
  };
}
