/**
 * The raw events of one Messages stream, reduced. Pure.
 *
 * A1. Nothing is repaired: text is joined, arguments stay the text they were.
 * A2. `terminal` is set by `message_stop` and by nothing else; what comes after it is ignored.
 * A3. A second `message_start` voids what came before it, and is counted.
 * A4. What is not known (event, block, delta) is kept raw and counted, never fatal.
 */
import { isObject, type JsonObject } from '../json.ts';
import { mergeUsage } from './anthropic-usage.ts';

/** An event as it came: its SSE name and its JSON; `data` undefined where it did not parse. */
export interface RawEvent {
  readonly name: string | null;
  readonly data: unknown;
}

export interface Block {
  /** As the provider numbers it. */
  readonly index: number;
  /** `content_block` of its start. */
  readonly start: JsonObject;
  readonly text: string;
  readonly thinking: string;
  readonly signature: string;
  /** Arguments, as text. */
  readonly json: string;
  readonly citations: readonly unknown[];
  /** Fields that a `compaction_delta` set. */
  readonly compaction: JsonObject | null;
}

export interface Reduction {
  readonly started: boolean;
  readonly terminal: boolean;
  readonly id: string | null;
  readonly model: string | null;
  readonly blocks: readonly Block[];
  readonly usage: JsonObject | null;
  readonly stopReason: string | null;
  readonly stopSequence: string | null;
  readonly stopDetails: JsonObject | null;
  readonly container: JsonObject | null;
  /** The provider's error frame. */
  readonly error: {
    readonly type: string | null;
    readonly message: string;
    readonly code: string | null;
  } | null;
  readonly restarts: number;
  /** Unknown events, by what they are, and how many. */
  readonly unknown: Readonly<Record<string, number>>;
  /** The first of them, raw. */
  readonly kept: readonly unknown[];
}

export const initialReduction: Reduction = {
  started: false,
  terminal: false,
  id: null,
  model: null,
  blocks: [],
  usage: null,
  stopReason: null,
  stopSequence: null,
  stopDetails: null,
  container: null,
  error: null,
  restarts: 0,
  unknown: {},
  kept: [],
};

/** Unknown events kept raw. */
const KEPT = 50;

export function reduce(state: Reduction, event: RawEvent): Reduction {
  const { data } = event;
  if (state.terminal || state.error) return state;
  if (!isObject(data))
    return event.name === 'ping' ? state : unknownEvent(state, event.name ?? 'unnamed', data);
  // Some compatible servers leave out the `event:` line; the type in the data says the same.
  switch (data.type ?? event.name) {
    case 'ping':
      return state;
    case 'message_start':
      return startMessage(state, data.message);
    case 'content_block_start':
      return startBlock(state, data);
    case 'content_block_delta':
      return applyDelta(state, data);
    case 'content_block_stop':
      return state;
    case 'message_delta':
      return endMessage(state, data);
    case 'message_stop':
      return { ...state, terminal: true };
    case 'error':
      return { ...state, error: toError(data) };
    default:
      return unknownEvent(state, String(data.type ?? event.name), data);
  }
}

/** Visible or reasoning text that an event adds, for those who watch. */
export function deltaOf(
  state: Reduction,
  event: RawEvent,
): { readonly part: number; readonly kind: 'text' | 'reasoning'; readonly text: string } | null {
  const { data } = event;
  if (state.terminal || state.error || !isObject(data) || data.type !== 'content_block_delta') return null;
  const part = positionOf(state, data.index);
  const delta = data.delta;
  if (part < 0 || !isObject(delta)) return null;
  if (delta.type === 'text_delta') return { part, kind: 'text', text: textOf(delta.text) };
  return delta.type === 'thinking_delta' ? { part, kind: 'reasoning', text: textOf(delta.thinking) } : null;
}

function startMessage(state: Reduction, message: unknown): Reduction {
  const start = isObject(message) ? message : {};
  return {
    ...initialReduction,
    started: true,
    id: stringOf(start.id),
    model: stringOf(start.model),
    usage: mergeUsage(null, start.usage),
    restarts: state.restarts + (state.started ? 1 : 0),
    unknown: state.unknown,
    kept: state.kept,
  };
}

const KNOWN_BLOCKS =
  /^(text|thinking|redacted_thinking|tool_use|compaction|fallback|container_upload|(server|mcp)_tool_use|mcp_tool_listing|[a-z_]+_tool_result)$/;

function startBlock(state: Reduction, data: JsonObject): Reduction {
  const start = isObject(data.content_block) ? data.content_block : {};
  const block: Block = {
    index: typeof data.index === 'number' ? data.index : state.blocks.length,
    start,
    text: textOf(start.text),
    thinking: textOf(start.thinking),
    signature: textOf(start.signature),
    json: '',
    citations: Array.isArray(start.citations) ? start.citations : [],
    compaction: null,
  };
  const next = { ...state, blocks: [...state.blocks, block] };
  const type = textOf(start.type);
  return KNOWN_BLOCKS.test(type) ? next : unknownEvent(next, `block ${type}`, data);
}

function applyDelta(state: Reduction, data: JsonObject): Reduction {
  const at = positionOf(state, data.index);
  const block = state.blocks[at];
  const delta = isObject(data.delta) ? data.delta : {};
  if (!block) return unknownEvent(state, 'delta without its block', data);
  const changed = extend(block, delta);
  if (changed === null) return unknownEvent(state, `delta ${textOf(delta.type)}`, data);
  return { ...state, blocks: state.blocks.with(at, changed) };
}

/** The block with a delta in it; null for a delta that is not known. */
function extend(block: Block, delta: JsonObject): Block | null {
  switch (delta.type) {
    case 'text_delta':
      return { ...block, text: block.text + textOf(delta.text) };
    case 'input_json_delta':
      return { ...block, json: block.json + textOf(delta.partial_json) };
    case 'thinking_delta':
      return { ...block, thinking: block.thinking + textOf(delta.thinking) };
    case 'signature_delta':
      return { ...block, signature: textOf(delta.signature) };
    case 'citations_delta':
      return { ...block, citations: [...block.citations, delta.citation] };
    case 'compaction_delta': {
      const { type: _type, ...fields } = delta;
      return { ...block, compaction: { ...block.compaction, ...fields } };
    }
    default:
      return null;
  }
}

function endMessage(state: Reduction, data: JsonObject): Reduction {
  const delta = isObject(data.delta) ? data.delta : {};
  return {
    ...state,
    usage: mergeUsage(state.usage, data.usage),
    stopReason: stringOf(delta.stop_reason) ?? state.stopReason,
    stopSequence: stringOf(delta.stop_sequence) ?? state.stopSequence,
    stopDetails: isObject(delta.stop_details) ? delta.stop_details : state.stopDetails,
    container: isObject(delta.container) ? delta.container : state.container,
  };
}

function toError(data: JsonObject): Reduction['error'] {
  const error = isObject(data.error) ? data.error : {};
  const details = isObject(error.details) ? error.details : {};
  return {
    type: stringOf(error.type),
    message: stringOf(error.message) ?? 'the provider sent an error',
    code: stringOf(details.error_code),
  };
}

function unknownEvent(state: Reduction, what: string, raw: unknown): Reduction {
  return {
    ...state,
    unknown: { ...state.unknown, [what]: (state.unknown[what] ?? 0) + 1 },
    kept: state.kept.length < KEPT ? [...state.kept, raw] : state.kept,
  };
}

/** The newest block of that number: one that starts again under an old number is a new block. */
function positionOf(state: Reduction, index: unknown): number {
  return state.blocks.findLastIndex((block) => block.index === index);
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
