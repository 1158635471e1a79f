/** One line per intent that grows through its stages. Pure: keeps lines, says what changed. */
import type { IntentOutput, RuntimeOutput } from '@interlock/runtime';

export interface IntentLine {
  readonly intent: string;
  /** The tool and what it is about. */
  readonly head: string;
  /** The stages so far, oldest first. */
  readonly stages: readonly string[];
  /** No further stage will come. */
  readonly done: boolean;
}

type Shown = IntentOutput | Extract<RuntimeOutput, { type: 'tool.observation' }>;

const SUBJECT_KEYS = ['command', 'path', 'pattern', 'uri'];

/** The lines of a session, newest last. */
export class IntentLines {
  readonly #lines = new Map<string, IntentLine>();

  /** Applies an output; returns the line as it reads now. */
  apply(output: Shown): IntentLine {
    const known = this.#lines.get(output.intent);
    const line = {
      intent: output.intent,
      head: known?.head ?? `${output.tool}${subjectOf(output)}`,
      stages: [...(known?.stages ?? []), stageOf(output)],
      done: output.type === 'tool.observation',
    };
    this.#lines.set(output.intent, line);
    return line;
  }

  /** Lines that may still grow. */
  open(): readonly IntentLine[] {
    return [...this.#lines.values()].filter((line) => !line.done);
  }
}

/** The whole line. */
export function textOf({ head, stages }: IntentLine): string {
  return [head, ...stages].join(' → ');
}

/** The line with its oldest stages left out until it fits: what happens now is what matters. */
export function shortTextOf({ head, stages }: IntentLine, fits: (text: string) => boolean): string {
  for (let from = 0; from < stages.length; from += 1) {
    const shown = from === 0 ? stages : ['…', ...stages.slice(from)];
    const text = [head, ...shown].join(' → ');
    if (fits(text)) return text;
  }
  return [head, '…', ...stages.slice(-1)].join(' → ');
}

function stageOf(output: Shown): string {
  if (output.type === 'tool.observation') return `observed (${output.ending})`;
  switch (output.stage) {
    case 'proposed':
      return 'proposed';
    case 'validated':
      return 'validated';
    case 'allowed':
      return `allowed by ${output.detail}`;
    case 'started':
      return 'running';
    case 'completed':
      return output.detail;
    case 'asked':
      return 'waits for a person';
    case 'invalid':
    case 'denied':
    case 'cancelled':
      return output.detail ? `${output.stage}: ${output.detail}` : output.stage;
  }
}

function subjectOf(output: Shown): string {
  if (output.type !== 'tool.intent' || typeof output.input !== 'object' || output.input === null) return '';
  const input = new Map<string, unknown>(Object.entries(output.input));
  const value = SUBJECT_KEYS.map((key) => input.get(key)).find((found) => typeof found === 'string');
  return typeof value === 'string' ? ` ${value.replaceAll(/\s+/g, ' ').slice(0, 60)}` : '';
}
