/**
 * A recorded Messages stream as a neutral report, for people and for tests over recordings: the same reduction that
 * answers requests, told in words that are the same for every provider API.
 */
import { Stream } from '@anthropic-ai/sdk/streaming';
import type { Usage } from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { isObject, parseArguments } from '../json.ts';
import { argumentsOf, cutOf, toOutcome } from './anthropic-answer.ts';
import { classifyError } from './anthropic-errors.ts';
import { type Block, initialReduction, type Reduction, reduce } from './anthropic-reduce.ts';

export interface ReportedCall {
  readonly id: string;
  readonly name: string;
  readonly input?: unknown;
  /** Arguments that are not JSON. */
  readonly raw?: string;
  /** Why it never runs. */
  readonly reason?: string;
}

export interface StreamReport {
  readonly outcome: 'completed' | 'error';
  /** Visible text, joined. */
  readonly text: string;
  readonly reasoning_chars: number;
  readonly tool_calls: readonly ReportedCall[];
  readonly rejected_tool_calls?: readonly ReportedCall[];
  /** Calls that ran at the provider. */
  readonly provider_executed?: readonly ReportedCall[];
  /** A neutral stop, `error` or `cancelled`. */
  readonly stop: string;
  readonly native_stop: string | null;
  readonly stop_sequence?: string;
  readonly stop_details?: unknown;
  readonly usage: ReportedUsage | null;
  /** The provider's names of the blocks, in order. */
  readonly part_order: readonly string[];
  /** What must go back verbatim, by hash. */
  readonly opaque: readonly ReportedSeal[];
  readonly terminal_event_seen: boolean;
  readonly model: string | null;
  readonly error?: {
    readonly code: string;
    readonly type: string | null;
    readonly message: string | null;
    readonly retryable: boolean;
    readonly category: string;
  };
  /** Events, blocks and deltas that are not known, and how many. */
  readonly unknown?: Readonly<Record<string, number>>;
}

export interface ReportedUsage {
  readonly input_uncached: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly output: number;
  readonly input_total: number;
  readonly reasoning: number | null;
}

export interface ReportedSeal {
  /** Place in `part_order`. */
  readonly at: number;
  readonly kind: string;
  readonly chars: number;
  readonly sha256_16: string;
  readonly thinking_chars?: number;
}

/** Reads a stream of server-sent events, in chunks of any size, to its end. Never throws for its content. */
export async function parseAnthropicStream(
  body: Uint8Array | ReadableStream<Uint8Array>,
): Promise<StreamReport> {
  const copy = body instanceof Uint8Array ? new Uint8Array(body) : body;
  let reduction = initialReduction;
  for await (const { event: name, data } of Stream.rawEvents(new Response(copy))) {
    reduction = reduce(reduction, { name, data: parseData(data) });
  }
  return toReport(reduction);
}

function parseData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function toReport(reduction: Reduction): StreamReport {
  const { blocks, stopReason, stopSequence, stopDetails, unknown } = reduction;
  const outcome = toOutcome(reduction, { issuer: '', model: '', requestId: null, schemaOf: () => undefined });
  const cut = cutOf(reduction);
  const calls = blocks.filter(({ start }) => start.type === 'tool_use').map((block) => toCall(block, cut));
  const rejected = calls.filter(({ reason }) => reason !== undefined);
  const executed = blocks
    .filter(({ start }) => start.type === 'server_tool_use')
    .map((block) => toCall(block, null));
  return {
    outcome: outcome.type === 'message' ? 'completed' : 'error',
    text: blocks.map(({ text }) => text).join(''),
    reasoning_chars: blocks.reduce((total, { thinking }) => total + thinking.length, 0),
    tool_calls: calls.filter(({ reason }) => reason === undefined),
    ...(rejected.length > 0 ? { rejected_tool_calls: rejected } : {}),
    ...(executed.length > 0 ? { provider_executed: executed } : {}),
    stop: outcome.type === 'message' ? outcome.stop : 'error',
    native_stop: stopReason,
    ...(stopSequence === null ? {} : { stop_sequence: stopSequence }),
    ...(stopDetails === null ? {} : { stop_details: stopDetails }),
    usage: outcome.type === 'message' && outcome.usage ? toReportedUsage(outcome.usage) : null,
    part_order: blocks.map(({ start }) => String(start.type)),
    opaque: blocks.flatMap((block, at) => sealOf(block, at) ?? []),
    terminal_event_seen: reduction.terminal,
    model: reduction.model,
    ...(outcome.type === 'failure' ? { error: toReportedError(reduction) } : {}),
    ...(Object.keys(unknown).length > 0 ? { unknown } : {}),
  };
}

function toCall(block: Block, cut: string | null): ReportedCall {
  const { inputFormat, rawInput } = parseArguments(argumentsOf(block));
  const call = { id: String(block.start.id), name: String(block.start.name) };
  if (inputFormat === 'text') return { ...call, raw: rawInput, reason: 'arguments are not complete JSON' };
  return { ...call, input: rawInput, ...(cut === null ? {} : { reason: cut }) };
}

function toReportedUsage(usage: Usage): ReportedUsage {
  const { inputUncached, cacheRead, cacheWrite, output, reasoning } = usage;
  return {
    input_uncached: inputUncached,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    output,
    input_total: inputUncached + cacheRead + cacheWrite,
    reasoning,
  };
}

function sealOf(block: Block, at: number): ReportedSeal | null {
  const seal = (kind: string, text: string): ReportedSeal => ({
    at,
    kind,
    chars: text.length,
    sha256_16: sha256Hex(text).slice(0, 16),
  });
  const { start, signature, thinking, compaction } = block;
  switch (start.type) {
    case 'thinking':
      return signature === ''
        ? null
        : { ...seal('thinking_signature', signature), thinking_chars: thinking.length };
    case 'redacted_thinking':
      return seal('redacted_thinking', String(start.data));
    case 'compaction': {
      const content = isObject(compaction) ? compaction.content : start.content;
      return typeof content === 'string' ? seal('compaction', content) : null;
    }
    default:
      return null;
  }
}

function toReportedError({ error }: Reduction): NonNullable<StreamReport['error']> {
  if (!error)
    return { code: 'stream_truncated', type: null, message: null, retryable: true, category: 'transport' };
  const { category, retryable } = classifyError(error);
  return { code: category, type: error.type, message: error.message, retryable, category };
}
