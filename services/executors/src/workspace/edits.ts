/**
 * Applying edits to a text. Pure.
 *
 * D1. Every `oldText` is looked for in the text as it was before the call; edits may not overlap; all apply or none.
 * D2. A line feed in `oldText` matches any line end, so a file with CR LF can be edited by who sees only lines.
 * D3. A line feed in `newText` takes the line end that stood in its place; what is outside a match keeps its bytes.
 * D4. `newText` is literal: nothing in it has a special meaning.
 */

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
}

export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type EditProblem =
  | { readonly code: 'text_not_found'; readonly edit: number }
  | {
      readonly code: 'text_not_unique';
      readonly edit: number;
      readonly count: number;
      /** The first twenty. */
      readonly lines: readonly number[];
    }
  | { readonly code: 'no_change'; readonly edit: number }
  | { readonly code: 'overlap'; readonly edit: number; readonly other: number };

export type EditOutcome =
  | { readonly ok: true; readonly text: string; readonly replacements: readonly Replacement[] }
  | { readonly ok: false; readonly problems: readonly EditProblem[] };

/** Applies all edits, or says what stands in the way of each. */
export function applyEdits(text: string, edits: readonly Edit[], replaceAll: boolean): EditOutcome {
  const source = normalise(text);
  const problems: EditProblem[] = [];
  const found: (Replacement & { readonly edit: number })[] = [];
  for (const [index, edit] of edits.entries()) {
    if (edit.oldText === edit.newText) {
      problems.push({ code: 'no_change', edit: index });
      continue;
    }
    const matches = findAll(source, edit.oldText);
    if (matches.length === 0) problems.push({ code: 'text_not_found', edit: index });
    else if (matches.length > 1 && !replaceAll) {
      const lines = matches.slice(0, 20).map(({ start }) => lineAt(text, start));
      problems.push({ code: 'text_not_unique', edit: index, count: matches.length, lines });
    } else {
      for (const match of matches)
        found.push({ ...match, text: fitted(text, match, edit.newText), edit: index });
    }
  }
  found.sort((a, b) => a.start - b.start || a.end - b.end);
  for (const [index, next] of found.entries()) {
    const before = found[index - 1];
    if (before && before.end > next.start)
      problems.push({ code: 'overlap', edit: next.edit, other: before.edit });
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, text: splice(text, found), replacements: found };
}

function splice(text: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text: replacement } of replacements) {
    parts.push(text.slice(at, start), replacement);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

/** A text whose line ends are line feeds, and where each of its characters stood. */
interface Normalised {
  readonly text: string;
  /** Offsets in the normalised text of the line feeds that were CR LF. */
  readonly crlf: readonly number[];
}

function normalise(text: string): Normalised {
  if (!text.includes('\r\n')) return { text, crlf: [] };
  const crlf: number[] = [];
  let removed = 0;
  const flat = text.replaceAll(/\r\n/g, (_match, offset: number) => {
    crlf.push(offset - removed);
    removed += 1;
    return '\n';
  });
  return { text: flat, crlf };
}

/** Offset in the text as it was. The start of a CR LF is its CR. */
function originalOffset(crlf: readonly number[], offset: number): number {
  let low = 0;
  let high = crlf.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((crlf[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return offset + low;
}

function findAll(source: Normalised, oldText: string): { start: number; end: number }[] {
  const needle = oldText.replaceAll('\r\n', '\n');
  if (needle === '') return [];
  const found: { start: number; end: number }[] = [];
  for (let at = source.text.indexOf(needle); at >= 0; at = source.text.indexOf(needle, at + needle.length)) {
    found.push({
      start: originalOffset(source.crlf, at),
      end: originalOffset(source.crlf, at + needle.length),
    });
  }
  return found;
}

/** The new text with the line ends of the place it comes to stand in. */
function fitted(text: string, { start, end }: { start: number; end: number }, newText: string): string {
  if (!text.includes('\r\n')) return newText;
  const ends = text.slice(start, end).match(/\r\n|\n/g) ?? [];
  const around = ends.at(-1) ?? lineEndAfter(text, end);
  let line = 0;
  return newText.replaceAll(/\r\n|\n/g, (own) => {
    const place = ends[line] ?? around;
    line += 1;
    return own === '\r\n' ? own : place;
  });
}

/** The end of the line at an offset; of the line before where it is the last. */
function lineEndAfter(text: string, offset: number): string {
  const after = /\r\n|\n/.exec(text.slice(offset));
  if (after) return after[0];
  return (
    text
      .slice(0, offset)
      .match(/\r\n|\n/g)
      ?.at(-1) ?? '\n'
  );
}

/** Number of the line at an offset, from 1. */
function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
