/** Token counts of the Messages API in neutral classes. Pure. */
import type { Usage } from '@interlock/contracts';
import { isObject, type JsonObject } from '../json.ts';

/** Counts as last said. The values of `message_delta` are cumulative: they replace, they are never added. */
export function mergeUsage(before: JsonObject | null, said: unknown): JsonObject | null {
  if (!isObject(said)) return before;
  const known = Object.entries(said).filter(([, value]) => value !== null && value !== undefined);
  return { ...before, ...Object.fromEntries(known) };
}

/**
 * Neutral usage. Where `iterations` is given its sum is what is billed: the fields beside it leave out compaction and
 * other calls within the answer. Null where nothing was said.
 */
export function toUsage(raw: JsonObject | null): Usage | null {
  if (raw === null) return null;
  const iterations = raw.iterations;
  const rows = Array.isArray(iterations) && iterations.length > 0 ? iterations.filter(isObject) : [raw];
  const sum = (field: string): number => rows.reduce((total, row) => total + tokens(row[field]), 0);
  const details = raw.output_tokens_details;
  const thinking = isObject(details) ? details.thinking_tokens : undefined;
  return {
    inputUncached: sum('input_tokens'),
    cacheRead: sum('cache_read_input_tokens'),
    cacheWrite: sum('cache_creation_input_tokens'),
    output: sum('output_tokens'),
    reasoning: typeof thinking === 'number' ? tokens(thinking) : null,
  };
}

/** Characters of text that one token makes, about. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * What an answer that broke off is charged with: the counts last said, and for output at least what the characters that
 * came make likely. The true count comes near the end; once it has, `characters` is null and nothing is guessed.
 */
export function toPartialUsage(raw: JsonObject | null, characters: number | null): Usage | null {
  const usage = toUsage(raw);
  if (usage === null || characters === null) return usage;
  return { ...usage, output: Math.max(usage.output, Math.ceil(characters / CHARACTERS_PER_TOKEN)) };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}
