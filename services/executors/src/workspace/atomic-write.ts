/**
 * Replacing a file as a whole: a reader, and a crash at any line, sees the old content or the new, never a part.
 *
 * W1. The new content is complete and synced in a file beside the old one before it takes its name.
 * W2. Mode and owner of the file that is replaced are kept; what root makes new belongs to the owner of its directory.
 * W3. Everything goes through a handle of the directory, so that a directory swapped meanwhile receives nothing.
 */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lock } from './locks.ts';
import { childOf, FileRefusedError, openDirectory } from './open.ts';
import { codeOf, relativeTo, type Workspace } from './paths.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const DEFAULT_MODE = 0o666;

/** Name of the file beside the target; one of an earlier try of the same call is written over. */
export function draftName(intent: string): string {
  return `.interlock-${intent}.tmp`;
}

/** True for the name of a draft that a crash may have left. */
export function isDraftName(name: string): boolean {
  return name.startsWith('.interlock-') && name.endsWith('.tmp');
}

export interface AtomicWrite {
  readonly workspace: Workspace;
  /** A path that `resolvePath` gave. Directories that are missing above it are made. */
  readonly real: string;
  readonly bytes: Uint8Array;
  readonly intent: string;
  /** Asked when all is ready, just before the name changes hands; what it throws stops the write. */
  readonly confirm: () => Promise<void>;
}

/** @throws FileRefusedError, and what `confirm` throws; the target is then untouched */
export async function writeAtomically({
  workspace,
  real,
  bytes,
  intent,
  confirm,
}: AtomicWrite): Promise<void> {
  const directory = await openParent(workspace, dirname(real));
  try {
    const draft = childOf(directory, draftName(intent));
    await rm(draft, { force: true });
    try {
      const replaced = await stat(childOf(directory, basename(real))).catch(ignoreMissing);
      await writeDraft(draft, bytes, replaced ?? (await ownerOf(directory)));
      const unlock = await lock(real);
      try {
        await confirm();
        await rename(draft, childOf(directory, basename(real)));
      } finally {
        unlock();
      }
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Removes the draft that a crash of this call left beside a file. */
export async function removeDraft(workspace: Workspace, real: string, intent: string): Promise<void> {
  const directory = await openDirectory(workspace, dirname(real)).catch(() => null);
  if (!directory) return;
  try {
    await rm(childOf(directory, draftName(intent)), { force: true });
  } finally {
    await directory.close();
  }
}

/** Whom a file belongs to, and its mode where it had one. */
interface Ownership {
  readonly uid: number;
  readonly gid: number;
  readonly mode?: number;
}

async function ownerOf(directory: FileHandle): Promise<Ownership> {
  const { uid, gid } = await directory.stat();
  return { uid, gid };
}

async function writeDraft(draft: string, bytes: Uint8Array, owner: Ownership): Promise<void> {
  const handle = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, DEFAULT_MODE);
  try {
    await handle.writeFile(bytes);
    await giveTo(handle, owner);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function giveTo(handle: FileHandle, { mode, uid, gid }: Ownership): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) {
    // Only root may give a file away; for anybody else it becomes the writer's, as with any editor.
    await handle.chown(uid, gid).catch((error: unknown) => {
      if (codeOf(error) !== 'EPERM') throw error;
    });
  }
  if (mode !== undefined) await handle.chmod(mode & 0o7777);
}

/** Opens the directory, making what is missing one level at a time, each below the handle of the one above. */
async function openParent(workspace: Workspace, real: string): Promise<FileHandle> {
  try {
    return await openDirectory(workspace, real);
  } catch (error) {
    if (!(error instanceof FileRefusedError) || error.code !== 'file_not_found') throw error;
  }
  let at = workspace.root;
  let directory = await openDirectory(workspace, at);
  for (const name of relativeTo(workspace, real).split('/')) {
    at = join(at, name);
    const parent = directory;
    try {
      const made = await makeDirectory(childOf(parent, name));
      directory = await openDirectory(workspace, at);
      if (made) await giveTo(directory, await ownerOf(parent));
    } finally {
      await parent.close();
    }
  }
  return directory;
}

/** False when it is there already. */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

function ignoreMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}
