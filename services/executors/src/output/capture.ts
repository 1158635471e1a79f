/**
 * Keeping the output of a program: its head and its tail as far as they may be shown, all of it as far as it may be
 * kept, and the exact count of the rest.
 *
 * K1. Memory is bounded: what is beyond `limitBytes` goes to the sink, and what is beyond the sink's limit is counted.
 * K2. `head + omitted + tail` is every byte that came, and both cuts are between characters.
 */

/** Takes all bytes in order, for the artifact. */
export interface ByteSink {
  write(bytes: Uint8Array): void;
}

export interface Capture {
  /** Bytes that came. */
  readonly totalBytes: number;
  /** All bytes when there are at most `limitBytes`. */
  readonly whole: Uint8Array | null;
  /** Cuts what was kept to a budget. */
  cut(maxBytes: number): CutOutput;
}

export interface CutOutput {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  readonly omittedBytes: number;
}

/** Share of a budget that the beginning gets: errors are told at the end. */
const HEAD_SHARE = 0.4;

/** Captures one channel. */
export class ChannelCapture implements Capture {
  readonly #limit: number;
  readonly #sink: ByteSink | null;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  totalBytes = 0;

  /** @param limitBytes the largest budget that `cut` will be asked for */
  constructor(limitBytes: number, sink: ByteSink | null) {
    this.#limit = limitBytes;
    this.#sink = sink;
  }

  push(chunk: Uint8Array): void {
    this.totalBytes += chunk.length;
    this.#sink?.write(chunk);
    const room = this.#limit - this.#headBytes;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      // A copy: a chunk may be a view of a buffer that is used again.
      this.#head.push(Uint8Array.from(part));
      this.#headBytes += part.length;
    }
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(0, room)));
  }

  #pushTail(chunk: Uint8Array): void {
    const part = chunk.subarray(Math.max(0, chunk.length - this.#limit));
    this.#tail.push(Uint8Array.from(part));
    this.#tailBytes += part.length;
    for (let first = this.#tail[0]; first; first = this.#tail[0]) {
      if (this.#tailBytes - first.length < this.#limit) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
    }
  }

  get whole(): Uint8Array | null {
    return this.totalBytes <= this.#limit ? Buffer.concat(this.#head) : null;
  }

  cut(maxBytes: number): CutOutput {
    const budget = Math.min(maxBytes, this.#limit);
    const kept = Buffer.concat([...this.#head, ...this.#tail]);
    if (this.totalBytes <= budget) return { head: kept, tail: new Uint8Array(0), omittedBytes: 0 };
    const headLength = beforeCharacter(kept, Math.min(this.#headBytes, Math.floor(budget * HEAD_SHARE)));
    const tailStart = afterCharacter(kept, kept.length - (budget - Math.floor(budget * HEAD_SHARE)));
    const head = kept.subarray(0, headLength);
    const tail = kept.subarray(tailStart);
    return { head, tail, omittedBytes: this.totalBytes - head.length - tail.length };
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The last place at or before `at` that is not within a character of UTF-8. */
function beforeCharacter(bytes: Uint8Array, at: number): number {
  let cut = at;
  while (cut > 0 && at - cut < 3 && isContinuation(bytes[cut])) cut -= 1;
  return isContinuation(bytes[cut]) ? at : cut;
}

/** The first place at or after `at` that is not within a character of UTF-8. */
function afterCharacter(bytes: Uint8Array, at: number): number {
  let cut = at;
  while (cut < bytes.length && cut - at < 3 && isContinuation(bytes[cut])) cut += 1;
  return isContinuation(bytes[cut]) ? at : cut;
}

/** Divides a budget between two channels: the smaller one is shown whole where it can be. */
export function shares(totalBytes: number, first: number, second: number): readonly [number, number] {
  const half = Math.floor(totalBytes / 2);
  if (first + second <= totalBytes) return [first, second];
  if (first <= half) return [first, totalBytes - first];
  if (second <= half) return [totalBytes - second, second];
  return [totalBytes - half, half];
}
