/** The searches themselves. They run in a thread of their own (`search-thread.ts`). */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import picomatch from 'picomatch';
import { openFile } from '../workspace/open.ts';
import type { Workspace } from '../workspace/paths.ts';
import { decodeText, splitLines } from '../workspace/text.ts';
import { type WalkTotals, walk } from '../workspace/walk.ts';
import type { GlobRequest, GrepRequest, SearchReply, SearchRequest, TextRequest } from './requests.ts';

const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** Characters of a line that are shown around a hit. */
const CLIP_CHARS = 300;
const BEFORE_HIT_CHARS = 100;

export function search(request: SearchRequest): Promise<SearchReply> {
  switch (request.kind) {
    case 'glob':
      return searchPaths(request);
    case 'grep':
      return searchFiles(request);
    case 'text':
      return Promise.resolve(searchText(request));
  }
}

/** Compiles a pattern as a search does. Throws `SyntaxError`. */
export function compile(pattern: string, ignoreCase: boolean): RegExp {
  const flags = ignoreCase ? 'i' : '';
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    // Stricter than what people write: `\-` or `\_` are errors with `u` only.
    return new RegExp(pattern, flags);
  }
}

/** Compiles a glob: matches names that begin with a dot; a pattern without `/` matches at any depth. */
export function compileGlob(pattern: string): (path: string) => boolean {
  const plain = pattern.replace(/^(\.\/)+/, '');
  return picomatch(plain.includes('/') ? plain : `**/${plain}`, { dot: true, nonegate: true });
}

async function searchPaths({ workspace, from, pattern, limit }: GlobRequest): Promise<SearchReply> {
  const matches = compileGlob(pattern);
  const totals: WalkTotals = { ignored: 0, unreadable: 0, cut: false };
  const found: string[] = [];
  let seen = 0;
  for await (const { relative, kind } of walk({ workspace, from }, totals)) {
    seen += 1;
    if (kind === 'directory' || !matches(below(from, relative))) continue;
    found.push(relative);
  }
  const lines = found.sort().slice(0, limit);
  return { ...nothing(totals), lines, total: found.length, cut: totals.cut, filesSearched: seen };
}

function below(from: string, relative: string): string {
  return from === '' ? relative : relative.slice(from.length + 1);
}

function nothing({ ignored, unreadable }: WalkTotals): SearchReply {
  return { lines: [], total: 0, cut: false, filesSearched: 0, ignored, unreadable, binary: 0, tooLarge: [] };
}

async function searchFiles(request: GrepRequest): Promise<SearchReply> {
  const { workspace, from, fromIsFile, glob, pattern, ignoreCase } = request;
  const regex = compile(pattern, ignoreCase);
  const matches = glob === null ? () => true : compileGlob(glob);
  const totals: WalkTotals = { ignored: 0, unreadable: 0, cut: false };
  const hits = new Hits(request.limit, request.maxBytes);
  let [filesSearched, binary] = [0, 0];
  const tooLarge: string[] = [];
  for await (const relative of files({ workspace, from, fromIsFile }, totals)) {
    if (!fromIsFile && !matches(below(from, relative))) continue;
    const content = await contentOf(workspace, relative);
    if (content === 'unreadable') totals.unreadable += 1;
    else if (content === 'too_large') tooLarge.push(relative);
    else if (content === 'binary') binary += 1;
    else {
      filesSearched += 1;
      hits.addFile(relative, content, regex);
    }
    if (hits.full) break;
  }
  const cut = totals.cut || hits.full;
  return { ...nothing(totals), lines: hits.lines, total: hits.total, cut, filesSearched, binary, tooLarge };
}

async function* files(
  { workspace, from, fromIsFile }: Pick<GrepRequest, 'workspace' | 'from' | 'fromIsFile'>,
  totals: WalkTotals,
): AsyncGenerator<string> {
  if (fromIsFile) {
    yield from;
    return;
  }
  for await (const { relative, kind } of walk({ workspace, from }, totals))
    if (kind === 'file') yield relative;
}

async function contentOf(
  workspace: Workspace,
  relative: string,
): Promise<{ readonly text: string } | 'binary' | 'too_large' | 'unreadable'> {
  const real = join(workspace.root, relative);
  try {
    const { size } = await stat(real);
    if (size > MAX_FILE_BYTES) return 'too_large';
    const handle = await openFile(workspace, real);
    try {
      const decoded = decodeText(await handle.readFile());
      return decoded.kind === 'binary' ? 'binary' : { text: decoded.text };
    } finally {
      await handle.close();
    }
  } catch {
    // Gone, swapped or forbidden since it was listed: it is counted as not searched.
    return 'unreadable';
  }
}

/** Hits within their limits, and how many there are beyond. */
class Hits {
  readonly lines: string[] = [];
  total = 0;
  #bytes = 0;
  readonly #limit: number;
  readonly #maxBytes: number;

  constructor(limit: number, maxBytes: number) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  get full(): boolean {
    return this.lines.length >= this.#limit || this.#bytes >= this.#maxBytes;
  }

  addFile(relative: string, { text }: { text: string }, regex: RegExp): void {
    this.addLines(`${relative}:`, text, regex);
  }

  addLines(prefix: string, text: string, regex: RegExp): void {
    for (const [index, line] of splitLines(text).entries()) {
      const hit = regex.exec(line);
      if (!hit) continue;
      this.total += 1;
      if (this.full) continue;
      const shown = `${prefix}${index + 1}:${clip(line, hit.index)}`;
      this.#bytes += Buffer.byteLength(shown) + 1;
      this.lines.push(shown);
    }
  }
}

/** A line cut around a hit, with its true length where it was cut. */
function clip(line: string, at: number): string {
  if (line.length <= CLIP_CHARS) return line;
  const start = Math.max(0, Math.min(at - BEFORE_HIT_CHARS, line.length - CLIP_CHARS));
  const part = line.slice(start, start + CLIP_CHARS).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${start + CLIP_CHARS < line.length ? '…' : ''} [line of ${line.length} characters]`;
}

function searchText({ text, pattern, limit, maxBytes }: TextRequest): SearchReply {
  const hits = new Hits(limit, maxBytes);
  hits.addLines('', text, compile(pattern, false));
  const empty = nothing({ ignored: 0, unreadable: 0, cut: false });
  return {
    ...empty,
    lines: hits.lines,
    total: hits.total,
    cut: hits.lines.length < hits.total,
    filesSearched: 1,
  };
}
