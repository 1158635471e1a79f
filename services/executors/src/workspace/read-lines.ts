/**
 * Reading a range of lines of a file of any size, with the hash of the whole: memory is bounded by what is shown.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { sha256Hex } from '@interlock/kit/pure';
import { FileRefusedError, openFile } from './open.ts';
import type { Workspace } from './paths.ts';
import { decodeText, type Encoding, splitLines } from './text.ts';

export interface LineRange {
  /** First line wanted, from 1. */
  readonly from: number;
  readonly limit: number;
  /** Characters of a line that are shown. */
  readonly maxLineChars: number;
  /** Bytes of text that are shown; a line that no longer fits ends the range. */
  readonly maxBytes: number;
}

export interface ShownLines {
  readonly lines: readonly string[];
  /** Last line shown; `from - 1` when none was. */
  readonly to: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  readonly sha256: string;
  readonly encoding: Encoding;
  /** Lines of which only the beginning is shown, with their true length in characters. */
  readonly clipped: readonly { readonly line: number; readonly chars: number }[];
  /** Bytes of the lines shown that were clipped away. */
  readonly clippedBytes: number;
  /** The text of the whole file, when it was read at once. */
  readonly text: string | null;
}

/** Files up to here are read at once, which is the only way to tell every encoding. */
const AT_ONCE = 8 * 1024 * 1024;
const CHUNK = 64 * 1024;
/** A line is held no longer than this while its end is looked for. */
const MAX_HELD_CHARS = 1024 * 1024;

/** @throws FileRefusedError, `binary_file` among its codes */
export async function readLines(workspace: Workspace, real: string, range: LineRange): Promise<ShownLines> {
  const handle = await openFile(workspace, real);
  try {
    const { size } = await handle.stat();
    return size <= AT_ONCE ? await readAtOnce(handle, real, range) : await readStreaming(handle, real, range);
  } finally {
    await handle.close();
  }
}

async function readAtOnce(handle: FileHandle, real: string, range: LineRange): Promise<ShownLines> {
  const bytes = await handle.readFile();
  const file = decodeText(bytes);
  if (file.kind === 'binary') throw binary(real, bytes.length);
  const window = new LineWindow(range);
  for (const line of splitLines(file.text)) window.add(line);
  const { encoding, text } = file;
  return { ...window.shown(), totalBytes: bytes.length, sha256: sha256Hex(bytes), encoding, text };
}

async function readStreaming(handle: FileHandle, real: string, range: LineRange): Promise<ShownLines> {
  const hash = createHash('sha256');
  const decoder = new TextDecoder('utf-8');
  const window = new LineWindow(range);
  const buffer = Buffer.alloc(CHUNK);
  let held = '';
  let overlong = 0;
  let totalBytes = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, totalBytes);
    if (bytesRead === 0) break;
    totalBytes += bytesRead;
    const chunk = buffer.subarray(0, bytesRead);
    if (chunk.includes(0)) throw binary(real, totalBytes);
    hash.update(chunk);
    const parts = (held + decoder.decode(chunk, { stream: true })).split('\n');
    held = parts.pop() ?? '';
    for (const [index, part] of parts.entries()) {
      window.add(part.endsWith('\r') ? part.slice(0, -1) : part, index === 0 ? overlong : 0);
      if (index === 0) overlong = 0;
    }
    if (held.length > MAX_HELD_CHARS) {
      overlong += held.length - range.maxLineChars;
      held = held.slice(0, range.maxLineChars);
    }
  }
  if (held !== '') window.add(held, overlong);
  return { ...window.shown(), totalBytes, sha256: hash.digest('hex'), encoding: 'utf8', text: null };
}

function binary(real: string, size: number): FileRefusedError {
  return new FileRefusedError('binary_file', `${real} is not text (${size} bytes)`);
}

/** Keeps the lines of a range while all lines pass by. */
class LineWindow {
  readonly #range: LineRange;
  readonly #lines: string[] = [];
  readonly #clipped: { line: number; chars: number }[] = [];
  #clippedBytes = 0;
  #total = 0;
  #bytes = 0;
  #full = false;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** @param missing characters of the line that were dropped before it came here */
  add(line: string, missing = 0): void {
    this.#total += 1;
    const { from, limit, maxLineChars, maxBytes } = this.#range;
    if (this.#full || this.#total < from || this.#lines.length >= limit) return;
    const shown = line.length > maxLineChars ? line.slice(0, maxLineChars).toWellFormed() : line;
    const size = Buffer.byteLength(shown) + 1;
    if (this.#bytes + size > maxBytes && this.#lines.length > 0) {
      this.#full = true;
      return;
    }
    this.#bytes += size;
    this.#lines.push(shown);
    const chars = line.length + missing;
    if (chars > shown.length) {
      this.#clipped.push({ line: this.#total, chars });
      this.#clippedBytes += Buffer.byteLength(line) + missing - Buffer.byteLength(shown);
    }
  }

  shown(): Pick<ShownLines, 'lines' | 'to' | 'totalLines' | 'clipped' | 'clippedBytes'> {
    return {
      lines: this.#lines,
      to: this.#range.from - 1 + this.#lines.length,
      totalLines: this.#total,
      clipped: this.#clipped,
      clippedBytes: this.#clippedBytes,
    };
  }
}
