import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Bytes of a stream of `fixtures/`. */
export function fixture(name: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/${name}.sse`, import.meta.url));
}

/** Bytes in chunks of a size, as a network might cut them: through events, JSON and characters. */
export function chunked(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)));
      at += size;
    },
  });
}

/** The events of a stream, each with its blank line. */
export function eventsOf(bytes: Uint8Array): string[] {
  const text = Buffer.from(bytes).toString('utf8');
  return text.split(/(?<=\n\n)/).filter((event) => event !== '');
}

/** A folder of the corpora that may stand beside the checkout; null, and said so, where it does not. */
export function corpus(name: string): string | null {
  const path = fileURLToPath(new URL(`../../../../shared/${name}/`, import.meta.url));
  if (existsSync(path)) return path;
  process.stderr.write(`not run: no ../shared/${name} beside the checkout\n`);
  return null;
}
