/**
 * Opening what a path was resolved to, and nothing that took its place since.
 *
 * O1. The handle is asked where it leads: a directory or link swapped in after the path was resolved is noticed.
 * O2. Opening never waits: a pipe without a writer, a device, a socket are refused.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import type { ErrorCode } from '@interlock/contracts';
import { codeOf, isInside, type Workspace } from './paths.ts';

/** What a tool cannot do with a file, in words for the model. */
export class FileRefusedError extends Error {
  override readonly name = 'FileRefusedError';
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;

/**
 * Opens a regular file for reading.
 * @param real a path that `resolvePath` gave
 * @throws FileRefusedError when it is gone, not a regular file, or no longer where it was
 */
export async function openFile(workspace: Workspace, real: string): Promise<FileHandle> {
  const handle = await openChecked(workspace, real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new FileRefusedError('not_a_regular_file', `${real} is not a regular file`);
}

/** Opens a directory. Its children are reached through the handle: `childOf`. */
export function openDirectory(workspace: Workspace, real: string): Promise<FileHandle> {
  return openChecked(workspace, real, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
}

/** The path of a name within an open directory, whatever became of the directory's own path. */
export function childOf(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

async function openChecked(workspace: Workspace, real: string, flags: number): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(real, flags);
  } catch (error) {
    throw toRefusal(real, error);
  }
  const at = await placeOf(handle, real);
  if (at === real && isInside(workspace.root, at)) return handle;
  await handle.close();
  throw new FileRefusedError('path_outside_workspace', `${real} was replaced while the call ran`);
}

async function placeOf(handle: FileHandle, real: string): Promise<string> {
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`);
  } catch {
    // No /proc: resolve again, which leaves a moment between the two.
    return realpath(real);
  }
}

function toRefusal(real: string, error: unknown): FileRefusedError {
  const code = codeOf(error);
  if (code === 'ENOENT') return new FileRefusedError('file_not_found', `${real} does not exist`, error);
  if (code === 'ELOOP')
    return new FileRefusedError(
      'path_outside_workspace',
      `${real} became a symbolic link while the call ran`,
      error,
    );
  if (code === 'EACCES' || code === 'EPERM')
    return new FileRefusedError('file_not_found', `${real} may not be read by this executor`, error);
  if (code === 'ENXIO' || code === 'ENOTDIR' || code === 'ENODEV')
    return new FileRefusedError('not_a_regular_file', `${real} is not what it was named as`, error);
  return new FileRefusedError(
    'file_not_found',
    `${real} cannot be opened (${code ?? 'unknown error'})`,
    error,
  );
}
