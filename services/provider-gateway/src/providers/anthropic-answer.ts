/**
 * From a reduced stream to the neutral outcome. Pure.
 *
 * N1. No tool call without the terminal event, and none where the stop cuts the answer.
 * N2. What must go back verbatim is sealed in `carry` with its issuer: API, endpoint and model as it was asked for.
 */
import type { Stop } from '@interlock/contracts';
import { isObject, type JsonObject, parseArguments } from '../json.ts';
import { type Answer, type AnswerPart, type Failure, isRetryable } from '../provider.ts';
import { stripReserved } from '../reserved-input.ts';
import { classifyError } from './anthropic-errors.ts';
import type { Block, Reduction } from './anthropic-reduce.ts';
import { toPartialUsage, toUsage } from './anthropic-usage.ts';

interface AnswerOptions {
  readonly issuer: string;
  /** Model asked for, where the stream does not name the one that answered. */
  readonly model: string;
  readonly requestId: string | null;
  /** Input schema of a tool by name; undefined for a tool that was not shown. */
  readonly schemaOf: (tool: string) => JsonObject | undefined;
}

const STOPS: Readonly<Record<string, Stop>> = {
  end_turn: 'end_turn',
  tool_use: 'tool_calls',
  max_tokens: 'max_tokens',
  stop_sequence: 'stop_sequence',
  refusal: 'refusal',
  pause_turn: 'pause',
  compaction: 'compaction',
  model_context_window_exceeded: 'context_window',
};
const CUTTING: ReadonlySet<Stop> = new Set(['max_tokens', 'refusal', 'context_window']);

function toStop(native: string | null): Stop {
  return native !== null && Object.hasOwn(STOPS, native) ? (STOPS[native] ?? 'unknown') : 'unknown';
}

/** As `toStop`; some compatible servers say `end_turn` where they mean a call. */
function stopOf({ stopReason, blocks }: Reduction): Stop {
  const stop = toStop(stopReason);
  const calls = stop === 'end_turn' && blocks.some(({ start }) => start.type === 'tool_use');
  return calls ? 'tool_calls' : stop;
}

/** Why the calls of a stream never run, or null where they do. */
export function cutOf(reduction: Reduction): string | null {
  if (!reduction.terminal) return 'stream ended without its terminal event';
  const stop = stopOf(reduction);
  return CUTTING.has(stop) ? `the answer stopped with ${stop}` : null;
}

/** The outcome of a stream that ended: the answer, or why there is none. */
export function toOutcome(reduction: Reduction, options: AnswerOptions): Answer | Failure {
  if (reduction.error) {
    const { type, message, code } = reduction.error;
    return brokenOff(reduction, classifyError({ type, message, code }));
  }
  if (!reduction.terminal) {
    return brokenOff(reduction, {
      category: 'stream_truncated',
      message: 'the stream ended before message_stop',
      retryable: isRetryable('stream_truncated'),
    });
  }
  return {
    type: 'message',
    parts: toParts(reduction, options),
    stop: stopOf(reduction),
    nativeStop: reduction.stopReason,
    usage: toUsage(reduction.usage),
    costUsd: null,
    model: reduction.model ?? options.model,
    requestId: options.requestId,
    ...(Object.keys(reduction.unknown).length > 0 ? { unknown: reduction.unknown } : {}),
  };
}

/** A failure with what had come by then. */
export function brokenOff(
  reduction: Reduction,
  why: Pick<Failure, 'category' | 'message' | 'retryable' | 'retryAfterMs'>,
): Failure {
  // `message_delta` brings the stop and the true count together.
  const counted = reduction.stopReason !== null;
  const characters = reduction.blocks.reduce(
    (total, { text, thinking, json }) => total + text.length + thinking.length + json.length,
    0,
  );
  return {
    type: 'failure',
    ...why,
    partial: reduction.blocks.map(({ text }) => text).join(''),
    usage: toPartialUsage(reduction.usage, counted ? null : characters),
    costUsd: null,
  };
}

function toParts(reduction: Reduction, options: AnswerOptions): AnswerPart[] {
  const cut = cutOf(reduction);
  const parts = reduction.blocks.flatMap((block) => toPart(block, { reduction, options, cut }) ?? []);
  const explanation = reduction.stopDetails?.explanation;
  if (typeof explanation === 'string' && explanation !== '')
    parts.push({ type: 'refusal', text: explanation });
  if (reduction.kept.length > 0 || reduction.restarts > 0) {
    const { kept, restarts } = reduction;
    parts.push({
      type: 'provider',
      kind: NOTES,
      carry: { issuer: options.issuer, value: { kept, restarts } },
    });
  }
  return parts;
}

/** Kind of the part that keeps what was not understood. It never goes back. */
export const NOTES = 'unrecognised';

interface PartContext {
  readonly reduction: Reduction;
  readonly options: AnswerOptions;
  readonly cut: string | null;
}

function toPart(block: Block, { reduction, options, cut }: PartContext): AnswerPart | null {
  const seal = (value: unknown): { carry: { issuer: string; value: unknown } } => ({
    carry: { issuer: options.issuer, value },
  });
  switch (block.start.type) {
    case 'text':
      if (block.citations.length > 0) {
        return { type: 'text', text: block.text, ...seal({ citations: block.citations }) };
      }
      return block.text === '' ? null : { type: 'text', text: block.text };
    case 'thinking':
      return {
        type: 'reasoning',
        text: block.thinking,
        ...seal({ type: 'thinking', signature: block.signature }),
      };
    case 'redacted_thinking':
      return {
        type: 'reasoning',
        text: '',
        ...seal({ type: 'redacted_thinking', data: block.start.data }),
      };
    case 'tool_use':
      return toCall(block, options, cut);
    default: {
      const { container } = reduction;
      const value = {
        block: wholeBlock(block),
        ...(container === null ? {} : { container: container.id }),
      };
      return { type: 'provider', kind: String(block.start.type ?? 'unknown'), ...seal(value) };
    }
  }
}

/** A block that is the provider's own affair, as it would have come in one piece. */
function wholeBlock(block: Block): JsonObject {
  const input = block.json === '' ? {} : { input: parseArguments(block.json).rawInput };
  return { ...block.start, ...input, ...block.compaction };
}

/** Arguments as the provider sent them: by deltas, or whole in the block's start. */
export function argumentsOf(block: Block): string {
  const whole = block.start.input;
  return block.json === '' && isObject(whole) && Object.keys(whole).length > 0
    ? JSON.stringify(whole)
    : block.json;
}

function toCall(block: Block, options: AnswerOptions, cut: string | null): AnswerPart {
  const tool = String(block.start.name ?? '');
  const providerRef = String(block.start.id ?? '');
  const raw = argumentsOf(block);
  const parsed = parseArguments(raw);
  if (cut !== null) {
    const why = parsed.inputFormat === 'text' ? 'arguments are not complete JSON' : cut;
    return { type: 'rejected_call', tool, raw, why, providerRef };
  }
  const { type: _type, id: _id, name: _name, input: _input, ...extra } = block.start;
  const carry = Object.keys(extra).length === 0 ? {} : { carry: { issuer: options.issuer, value: extra } };
  if (parsed.inputFormat === 'text') return { type: 'tool_call', tool, ...parsed, providerRef, ...carry };
  const { input, ...said } = stripReserved(parsed.rawInput, options.schemaOf(tool));
  return { type: 'tool_call', tool, rawInput: input, inputFormat: 'json', ...said, providerRef, ...carry };
}
