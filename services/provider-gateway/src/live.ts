/**
 * Text of one attempt as it comes, for those who watch. Never the record.
 *
 * L1. Nothing here is waited for: the reader of the provider's stream is never held up.
 * L2. At most 2 KiB and one delta are held. While NATS is away chunks are dropped; the gap in `index` shows it.
 * L3. Chunks joined in order of `index`, of one kind, are the text of that kind.
 */
import type { LiveChunkV1 } from '@interlock/contracts';
import type { Delta } from './provider.ts';

export interface LiveText {
  push(delta: Delta): void;
  /** Sends what is held. Further deltas are dropped. */
  close(): void;
}

interface LiveOptions {
  readonly attempt: number;
  /** Sends one chunk, or drops it. Must not throw or wait. */
  readonly send: (chunk: LiveChunkV1) => void;
  /** Default 100. */
  readonly flushMs?: number;
}

const FLUSH_MS = 100;
const FLUSH_LENGTH = 2048;
/** A chunk of text above this is cut: a message has a limit. */
const CHUNK_LENGTH = 64 * 1024;

export function createLiveText({ attempt, send, flushMs = FLUSH_MS }: LiveOptions): LiveText {
  let index = 0;
  let held = '';
  let kind: Delta['kind'] = 'text';
  let part = -1;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const text of cut(held)) send({ kind, attempt, index: index++, text });
    held = '';
  };

  return {
    push(delta) {
      if (closed || delta.text === '') return;
      const begins = delta.part !== part || delta.kind !== kind;
      if (begins) {
        flush();
        ({ part, kind } = delta);
      }
      held += delta.text;
      // The first words of a part are what people wait for.
      if (begins || held.length >= FLUSH_LENGTH) flush();
      else timer ??= setTimeout(flush, flushMs);
    },
    close() {
      flush();
      closed = true;
    },
  };
}

function* cut(text: string): Generator<string> {
  let at = 0;
  while (at < text.length) {
    const end = at + CHUNK_LENGTH;
    // A pair of surrogates stays together.
    const size =
      isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length ? CHUNK_LENGTH - 1 : CHUNK_LENGTH;
    yield text.slice(at, at + size);
    at += size;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
