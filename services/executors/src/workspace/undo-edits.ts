/**
 * Whether a file is what some edits made of a content of which only the hash is known: they are undone in each way that
 * is possible, and the hash decides. Pure.
 */
import { sha256Hex } from '@interlock/kit/pure';
import { applyEdits, type Edit } from './edits.ts';
import { decodeText, encodeText, type TextFile } from './text.ts';

export interface Undone {
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The text before undoing. */
  readonly after: string;
}

/** Places tried. */
const MAX_TRIES = 256;

/** The content before the edits; null when no way of undoing them gives the hash. */
export function undoEdits(bytes: Uint8Array, edits: readonly Edit[], wanted: string): Undone | null {
  const file = decodeText(bytes);
  if (file.kind === 'binary' || edits.some(({ newText }) => newText === '')) return null;
  const reversed = edits.map(({ oldText, newText }) => ({ oldText: newText, newText: oldText }));
  for (const all of [false, true]) {
    const outcome = applyEdits(file.text, reversed, all);
    if (outcome.ok) {
      const found = matching(outcome.text, file, wanted);
      if (found) return found;
    }
  }
  return reversed.length === 1 && reversed[0] ? undoAtOnePlace(file, reversed[0], wanted) : null;
}

/** One edit whose new text also stands elsewhere: each place is tried. */
function undoAtOnePlace(file: TextFile, edit: Edit, wanted: string): Undone | null {
  const outcome = applyEdits(file.text, [edit], true);
  if (!outcome.ok) return null;
  for (const { start, end, text } of outcome.replacements.slice(0, MAX_TRIES)) {
    const found = matching(file.text.slice(0, start) + text + file.text.slice(end), file, wanted);
    if (found) return found;
  }
  return null;
}

function matching(text: string, file: TextFile, wanted: string): Undone | null {
  const bytes = encodeText(text, file);
  return bytes && sha256Hex(bytes) === wanted ? { bytes, text, after: file.text } : null;
}
