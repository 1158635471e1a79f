/** Cutting text by UTF-8 bytes without ever splitting a character. */
const encoder = new TextEncoder();
// A byte order mark is text here: a decoder that swallows it would make the count wrong.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

export interface Cut {
  readonly head: string;
  readonly tail: string;
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Bytes between head and tail. */
  readonly omittedBytes: number;
}

/**
 * The beginning and the end of a text, with at most so many bytes each; the whole as `head` when it fits in both
 * together. A lone surrogate counts, and comes out, as U+FFFD.
 */
export function cut(text: string, limit: { readonly headBytes: number; readonly tailBytes: number }): Cut {
  const bytes = encoder.encode(text);
  if (bytes.length <= limit.headBytes + limit.tailBytes) {
    return { head: decoder.decode(bytes), tail: '', headBytes: bytes.length, tailBytes: 0, omittedBytes: 0 };
  }
  let end = limit.headBytes;
  while (end > 0 && isContinuation(bytes[end])) end--;
  let start = bytes.length - limit.tailBytes;
  while (start < bytes.length && isContinuation(bytes[start])) start++;
  return {
    head: decoder.decode(bytes.subarray(0, end)),
    tail: decoder.decode(bytes.subarray(start)),
    headBytes: end,
    tailBytes: bytes.length - start,
    omittedBytes: start - end,
  };
}

/** A text of at most `maxBytes`; where something is left out, it ends by saying how much. */
export function clip(text: string, maxBytes: number): string {
  const room = maxBytes - 40;
  const whole = cut(text, { headBytes: maxBytes, tailBytes: 0 });
  if (whole.omittedBytes === 0) return whole.head;
  const { head, omittedBytes } = cut(text, { headBytes: Math.max(0, room), tailBytes: 0 });
  return `${head} [${omittedBytes} more bytes left out]`;
}
