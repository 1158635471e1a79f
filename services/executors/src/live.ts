/**
 * Live output: what a running call writes, in chunks on `live`. It may be lost, and it is bounded: the fact has the rest.
 */
import { StringDecoder } from 'node:string_decoder';
import { type LiveChunkV1, liveSubject } from '@interlock/contracts';
import type { Bus } from '@interlock/kit';
import { StreamSanitizer } from './output/sanitize.ts';

export interface LiveAddress {
  readonly tenant: string;
  readonly session: string;
  readonly intent: string;
}

const BATCH_MS = 100;
const BATCH_CHARS = 2048;
/** Characters of one call on `live`. */
const MAX_CHARS = 256 * 1024;

export type LiveChannel = 'stdout' | 'stderr';

export interface LiveOutput {
  /** Takes bytes as they come, split anywhere. */
  write(channel: LiveChannel, bytes: Uint8Array): void;
  /** Sends what is left. */
  end(): void;
}

export function createLiveOutput(bus: Bus, address: LiveAddress): LiveOutput {
  const subject = liveSubject.of(address.tenant, address.session, 'output', address.intent);
  const channels = { stdout: new Channel(), stderr: new Channel() };
  let [index, sent] = [0, 0];
  let timer: NodeJS.Timeout | null = null;

  const publish = (kind: LiveChannel, text: string): void => {
    // What cannot be sent now is of no use later; B2 of the bus: nothing is published while it is away.
    if (text === '' || !bus.connected()) return;
    sent += text.length;
    const chunk: LiveChunkV1 = { kind, attempt: 0, index: index++, text };
    bus.nc.publish(subject, JSON.stringify(chunk));
  };
  const flush = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    for (const kind of ['stdout', 'stderr'] as const) publish(kind, channels[kind].take());
  };
  return {
    write(channel, bytes) {
      if (sent >= MAX_CHARS) return;
      channels[channel].push(bytes);
      if (channels[channel].length >= BATCH_CHARS) flush();
      else timer ??= setTimeout(flush, BATCH_MS);
    },
    end() {
      for (const channel of Object.values(channels)) channel.end();
      flush();
    },
  };
}

class Channel {
  readonly #decoder = new StringDecoder('utf8');
  readonly #sanitizer = new StreamSanitizer();
  #text = '';

  get length(): number {
    return this.#text.length;
  }

  push(bytes: Uint8Array): void {
    this.#text += this.#sanitizer.push(this.#decoder.write(Buffer.from(bytes)));
  }

  end(): void {
    this.#text += this.#sanitizer.push(this.#decoder.end()) + this.#sanitizer.end();
  }

  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
