/** Whether a call may change a file: it must have been shown in the session, and be as it was shown. */
import type { Baseline } from '@interlock/contracts';
import type { SeenContent } from '../workspace/seen-content.ts';
import { decodeText } from '../workspace/text.ts';
import { unifiedDiff } from '../workspace/unified-diff.ts';
import { reject } from './rejection.ts';
import type { Rejected } from './tool.ts';

export interface CurrentFile {
  readonly relative: string;
  readonly real: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/** Diff lines in a refusal: enough to see what happened, not enough to replace reading. */
const MAX_DIFF_LINES = 40;

/** Null when the file is as it was shown; otherwise why it may not be changed. */
export function baselineProblem(
  file: CurrentFile,
  reads: readonly Baseline[],
  seen: SeenContent,
): Rejected | null {
  const shown = reads.findLast(({ path }) => path === file.real);
  if (!shown) return reject('file_not_read', '/path', `${file.relative} has not been read in this session`);
  if (shown.sha256 === file.sha256) return null;
  return reject('file_changed', '/path', describeChange(file, shown.sha256, seen));
}

/** What changed in a file since a content that this process may still know. */
export function describeChange(file: CurrentFile, shownHash: string | null, seen: SeenContent): string {
  const head = `${file.relative} changed since it was last read`;
  const before = shownHash === null ? undefined : seen.get(shownHash);
  const now = decodeText(file.bytes);
  if (before === undefined || now.kind === 'binary') return `${head}; it has ${file.bytes.length} bytes now`;
  const lines = unifiedDiff({ path: file.relative, before, after: now.text }).split('\n').slice(2);
  const cut =
    lines.length > MAX_DIFF_LINES ? `\n… ${lines.length - MAX_DIFF_LINES} more lines of this diff` : '';
  return `${head}:\n${lines.slice(0, MAX_DIFF_LINES).join('\n')}${cut}`;
}
