/**
 * The body of a Messages request from the neutral context. Pure.
 *
 * Q1. Equal contexts give equal bytes; a longer context begins with the bytes of the shorter one (cache marks apart).
 * Q2. `carry` goes back to the issuer that made it and to nobody else; reasoning never becomes visible text.
 * Q3. Every call has its result in the next user message, under an id that is valid and unique in the request.
 * Q4. What people, files and commands say stays in a block of its own behind its label.
 */
import type { CallResult, ContextPart, ModelPart, ToolCallPart, ToolDefinition } from '@interlock/contracts';
import { isObject, type JsonObject } from '../json.ts';
import { restoreReserved } from '../reserved-input.ts';
import { NOTES } from './anthropic-answer.ts';
import { markCache } from './anthropic-cache.ts';
import { type CallIds, createCallIds } from './call-ids.ts';
import { toWireName, toWireTool, type WireTool } from './wire-tool.ts';

interface RequestOptions {
  readonly model: string;
  readonly maxOutputTokens: number;
  readonly issuer: string;
  readonly cacheTtl: '5m' | '1h';
}

/** A block as the API takes it. */
type WireBlock = Record<string, unknown> & { type: string };
export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: WireBlock[];
}
export interface WireRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream: true;
  readonly system?: WireBlock[];
  readonly tools?: WireTool[];
  readonly messages: WireMessage[];
  readonly container?: string;
}

export function toRequest(
  context: readonly ContextPart[],
  definitions: readonly ToolDefinition[],
  options: RequestOptions,
): WireRequest {
  const system = context.flatMap((part) =>
    part.kind === 'system' && part.text !== '' ? [textBlock(part.text)] : [],
  );
  const tools = [...definitions].sort((a, b) => (a.name < b.name ? -1 : 1)).map(toWireTool);
  const messages = toMessages(context, options.issuer);
  const container = containerOf(context, options.issuer);
  return markCache(
    {
      model: options.model,
      max_tokens: options.maxOutputTokens,
      stream: true,
      ...(system.length > 0 ? { system } : {}),
      ...(tools.length > 0 ? { tools } : {}),
      messages,
      ...(container === null ? {} : { container }),
    },
    options.cacheTtl,
  );
}

function toMessages(context: readonly ContextPart[], issuer: string): WireMessage[] {
  const ids = createCallIds();
  const messages: WireMessage[] = [];
  const add = (role: WireMessage['role'], blocks: WireBlock[]): void => {
    if (blocks.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: blocks });
  };
  for (const part of context) {
    switch (part.kind) {
      case 'system':
      case 'tools':
        break;
      case 'user':
        add('user', userBlocks(part));
        break;
      case 'summary':
        add('user', [
          textBlock(`[summary] The conversation up to here, summarised by the system:\n${part.text}`),
        ]);
        break;
      case 'assistant':
        add(
          'assistant',
          part.parts.flatMap((piece) => assistantBlock(piece, issuer, ids) ?? []),
        );
        break;
      case 'results':
        add(
          'user',
          part.results.map((result) => resultBlock(result, ids)),
        );
        break;
    }
  }
  return messages;
}

function textBlock(text: string): WireBlock {
  return { type: 'text', text };
}

function userBlocks(part: Extract<ContextPart, { kind: 'user' }>): WireBlock[] {
  const handles = part.attachments.map(({ uri, name, mediaType, sizeBytes }) =>
    textBlock(`[attachment] ${name ?? 'unnamed'} (${mediaType}, ${sizeBytes} bytes): ${uri}`),
  );
  // The API refuses a text of nothing but white space.
  return [textBlock(part.text.trim() === '' ? '(no text)' : part.text), ...handles];
}

function assistantBlock(part: ModelPart, issuer: string, ids: CallIds): WireBlock | null {
  const carried = 'carry' in part && part.carry?.issuer === issuer ? part.carry.value : undefined;
  const carry = isObject(carried) ? carried : null;
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() === '' ? null : { ...textBlock(part.text), ...(carry ?? {}) };
    case 'reasoning':
      if (carry?.type === 'thinking')
        return { type: 'thinking', thinking: part.text, signature: carry.signature };
      return carry?.type === 'redacted_thinking' ? { type: 'redacted_thinking', data: carry.data } : null;
    case 'tool_call':
      return toolUse(ids.of(part), part.tool, inputOf(part), carry);
    case 'rejected_call':
      return toolUse(ids.of(part), part.tool, unreadable(part.raw), null);
    case 'provider': {
      const block = part.kind === NOTES ? null : carry?.block;
      return isObject(block) && typeof block.type === 'string' ? { ...block, type: block.type } : null;
    }
  }
}

function toolUse(id: string, tool: string, input: JsonObject, extra: JsonObject | null): WireBlock {
  return { type: 'tool_use', id, name: toWireName(tool), input, ...extra };
}

/** The input as the model gave it, as the object that the API demands. */
function inputOf(part: ToolCallPart): JsonObject {
  if (part.inputFormat === 'text') return unreadable(String(part.rawInput));
  return isObject(part.rawInput)
    ? restoreReserved(part.rawInput, part)
    : unreadable(JSON.stringify(part.rawInput));
}

function unreadable(raw: string): JsonObject {
  return { _unparsed_arguments: raw };
}

function resultBlock(result: CallResult, ids: CallIds): WireBlock {
  const content = result.parts
    .filter(({ text }) => text !== '')
    .map(({ label, text }) => textBlock(`[${label}]\n${text}`));
  return {
    type: 'tool_result',
    tool_use_id: ids.find(result.intent),
    content: content.length > 0 ? content : [textBlock('[fact]\n(no output)')],
    ...(result.isError ? { is_error: true } : {}),
  };
}

/** The provider's container that the newest answer ran in. */
function containerOf(context: readonly ContextPart[], issuer: string): string | null {
  for (const part of context.toReversed()) {
    if (part.kind !== 'assistant') continue;
    for (const piece of part.parts.toReversed()) {
      if (piece.type !== 'provider' || piece.carry.issuer !== issuer || !isObject(piece.carry.value))
        continue;
      const { container } = piece.carry.value;
      if (typeof container === 'string') return container;
    }
  }
  return null;
}
