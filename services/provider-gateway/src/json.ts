import { isCanonical } from '@interlock/kit/pure';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The arguments of a call: JSON, or the text as it came. */
export type Arguments =
  | { readonly inputFormat: 'json'; readonly rawInput: unknown }
  | { readonly inputFormat: 'text'; readonly rawInput: string };

/**
 * Strict: nothing is repaired and nothing completed. An empty text is an empty object, as providers mean it. JSON that
 * the log could not hold unchanged (`1e999`, a lone surrogate) stays text.
 */
export function parseArguments(raw: string): Arguments {
  if (raw.trim() === '') return { inputFormat: 'json', rawInput: {} };
  try {
    const rawInput: unknown = JSON.parse(raw);
    return isCanonical(rawInput) ? { inputFormat: 'json', rawInput } : { inputFormat: 'text', rawInput: raw };
  } catch {
    return { inputFormat: 'text', rawInput: raw };
  }
}
