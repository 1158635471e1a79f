import type { ObservationPart, ToolExecutionCompletedV1 } from '@interlock/contracts';
import { adviceFor } from './advice.ts';
import { byteLength } from './bytes.ts';
import { artifactFacts, fileFacts, networkFacts, processFacts } from './facts.ts';
import { boundOutput } from './output.ts';
import type { Projection, ProjectOptions } from './projection.ts';

/** What the kinds of an execution's end say for themselves. */
export interface Account {
  readonly ending: Projection['ending'];
  /** How it ended: the first fact. */
  readonly opening: readonly ObservationPart[];
  /** Text of the executor's own about the end, untrusted like all it passes on. */
  readonly message?: string | undefined;
  /** The facts of a process that ran. */
  readonly ran: boolean;
}

/** Facts first in their fixed order, then what was left out, then the output, then advice. */
export function projectExecution(
  data: ToolExecutionCompletedV1,
  { ending, opening, message, ran }: Account,
  options: ProjectOptions,
): Projection {
  const facts = [
    ...opening,
    ...(ran ? [...processFacts(data), ...fileFacts(data, options), ...networkFacts(data, options)] : []),
    ...artifactFacts(data, options),
  ];
  const advice = ending === 'success' || data.code === undefined ? [] : adviceFor(data.code);
  const used = sizeOf([...facts, ...advice]) + SUGGESTION_BYTES;
  const outputs = message
    ? [{ channel: 'message', text: message, omittedBytes: 0 }, ...data.output]
    : data.output;
  const output = boundOutput(outputs, options.budgetBytes - used);
  return {
    ending,
    ...(data.code === undefined ? {} : { code: data.code }),
    isError: ending !== 'success',
    parts: [...facts, ...output.truncation, ...output.shown, ...output.suggestions, ...advice],
    omittedBytes: output.omittedBytes,
    artifacts: [...new Set([...output.artifacts, ...data.artifacts.map(({ uri }) => uri), ...diffs(data)])],
    toStore: output.toStore,
  };
}

/** Room for the suggestion how to read on. */
const SUGGESTION_BYTES = 120;

function sizeOf(parts: readonly ObservationPart[]): number {
  return parts.reduce((sum, part) => sum + byteLength(part.text), 0);
}

function diffs({ effects }: ToolExecutionCompletedV1): string[] {
  return effects.files.flatMap(({ diff }) => (diff === undefined ? [] : [diff]));
}
