/** What changed between two snapshots. Pure. */
import type { FileEffect } from '@interlock/contracts';
import type { Effects } from '../tools/tool.ts';
import type { FileState, Snapshot } from './snapshot.ts';

/** Files added, changed and deleted, by path. A file whose mode alone changed is changed with equal hashes. */
export function compareSnapshots(before: Snapshot, after: Snapshot): Effects {
  const files: FileEffect[] = [];
  for (const [path, now] of after.files) {
    const was = before.files.get(path);
    if (!was) files.push({ path, change: 'added', before: null, after: now.sha256 });
    else if (isChanged(was, now))
      files.push({ path, change: 'changed', before: was.sha256, after: now.sha256 });
  }
  for (const [path, was] of before.files) {
    if (!after.files.has(path)) files.push({ path, change: 'deleted', before: was.sha256, after: null });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const excluded = [...new Set([...before.excluded, ...after.excluded])].sort();
  return { files, scope: 'complete', excluded };
}

function isChanged(was: FileState, now: FileState): boolean {
  if (was === now) return false;
  if (was.mode !== now.mode) return true;
  // Where one side could not be hashed, its size and its time of change have to do.
  if (was.sha256 === null || now.sha256 === null) return was.size !== now.size || was.mtimeNs !== now.mtimeNs;
  return was.sha256 !== now.sha256;
}
