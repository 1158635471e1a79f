/** Where a text that was not found nearly is: for a message that lets the next try succeed. Pure. */
import { splitLines } from './text.ts';

/** Lines looked at: the hint must not cost more than the call. */
const MAX_LINES = 20_000;
const MIN_LIKENESS = 0.6;

/** A sentence on the nearest place, or null when nothing is near. */
export function nearestHint(text: string, wanted: string): string | null {
  const lines = splitLines(text).slice(0, MAX_LINES);
  const first = splitLines(wanted).find((line) => line.trim() !== '') ?? wanted;
  const sameButBlanks = lines.findIndex((line) => squeeze(line) === squeeze(first) && first.trim() !== '');
  if (sameButBlanks >= 0) {
    const found = lines[sameButBlanks] ?? '';
    const where = `line ${sameButBlanks + 1}`;
    if (found === first) return `${where} equals its first line, but the lines after it differ`;
    return `${where} differs only in white space: ${quote(found)}`;
  }
  const normal = first.normalize('NFC');
  const sameForm = lines.findIndex((line) => line.normalize('NFC').includes(normal));
  if (sameForm >= 0) return `line ${sameForm + 1} differs only in its Unicode form`;
  return mostAlike(lines, first);
}

function mostAlike(lines: readonly string[], wanted: string): string | null {
  const grams = bigrams(wanted.slice(0, 400));
  if (grams.size === 0) return null;
  let best = { line: -1, likeness: MIN_LIKENESS };
  for (const [index, line] of lines.entries()) {
    const likeness = overlap(grams, bigrams(line.slice(0, 400)));
    if (likeness > best.likeness) best = { line: index, likeness };
  }
  return best.line < 0 ? null : `the nearest is line ${best.line + 1}: ${quote(lines[best.line] ?? '')}`;
}

function squeeze(line: string): string {
  return line.replaceAll(/\s+/g, '');
}

function bigrams(line: string): Set<string> {
  const flat = line.trim();
  const grams = new Set<string>();
  for (let at = 0; at + 2 <= flat.length; at += 1) grams.add(flat.slice(at, at + 2));
  return grams;
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  let shared = 0;
  for (const gram of a) if (b.has(gram)) shared += 1;
  return (2 * shared) / (a.size + b.size);
}

function quote(line: string): string {
  return JSON.stringify(line.length > 160 ? `${line.slice(0, 160)}…` : line);
}
