/** Unified diffs for people and for the record. Pure. */
import { createTwoFilesPatch } from 'diff';

/** A diff that takes longer says so in place of its lines. */
const LIMIT_MS = 2000;

export interface TextChange {
  /** Below the workspace. */
  readonly path: string;
  /** Null: the file was not there. */
  readonly before: string | null;
  /** Null: the file is not there any more. */
  readonly after: string | null;
}

/** A unified diff with three lines of context; line ends are shown as they are. */
export function unifiedDiff({ path, before, after }: TextChange): string {
  const from = before === null ? '/dev/null' : `a/${path}`;
  const to = after === null ? '/dev/null' : `b/${path}`;
  const options = { context: 3, timeout: LIMIT_MS, stripTrailingCr: false } as const;
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', undefined, undefined, options) as
    | string
    | undefined;
  if (patch === undefined)
    return `--- ${from}\n+++ ${to}\n(the two differ in too many places to be shown line by line)\n`;
  // The library begins with a line of its own.
  return patch.replace(/^=+\n/, '');
}

/** Lines added and removed by a unified diff. */
export function countLines(patch: string): { readonly added: number; readonly removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of patch.split('\n')) {
    if (line.startsWith('+') && !line.startsWith('+++ ')) added += 1;
    else if (line.startsWith('-') && !line.startsWith('--- ')) removed += 1;
  }
  return { added, removed };
}
