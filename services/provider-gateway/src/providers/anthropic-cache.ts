/**
 * Where the provider may cache the prefix: after the tools, after the system text, and at the ends of the last two user
 * messages (the older one is where the turn before wrote its cache, however long this turn was).
 */
import type { JsonObject } from '../json.ts';
import type { WireMessage, WireRequest } from './anthropic-request.ts';

/** Marks the request in at most four places, which is what the API allows. */
export function markCache(request: WireRequest, ttl: '5m' | '1h'): WireRequest {
  const mark = { cache_control: ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' } };
  const users = request.messages
    .flatMap((message, index) => (message.role === 'user' ? [index] : []))
    .slice(-2);
  return {
    ...request,
    ...(request.system ? { system: markLast(request.system, mark) } : {}),
    ...(request.tools ? { tools: markLast(request.tools, mark) } : {}),
    messages: request.messages.map(
      (message, index): WireMessage =>
        users.includes(index) ? { ...message, content: markLast(message.content, mark) } : message,
    ),
  };
}

function markLast<Item extends object>(items: readonly Item[], mark: JsonObject): Item[] {
  return items.map((item, index) => (index === items.length - 1 ? { ...item, ...mark } : item));
}
