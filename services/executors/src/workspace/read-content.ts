/** The whole content of a file that is to be edited, or that an edit rests on. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { sha256Hex } from '@interlock/kit/pure';
import { FileRefusedError, openFile } from './open.ts';
import type { Workspace } from './paths.ts';
import { decodeText, type TextFile } from './text.ts';

/** Read at once up to here. */
const SMALL = 4 * 1024 * 1024;

export interface FileContent {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/**
 * Reads a file of at most `maxBytes`.
 * @throws FileRefusedError
 */
export async function readContent(
  workspace: Workspace,
  real: string,
  maxBytes: number,
): Promise<FileContent> {
  const handle = await openFile(workspace, real);
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) throw tooLarge(real, size, maxBytes);
    const bytes = await handle.readFile();
    // It may have grown, or be a file whose size says nothing.
    if (bytes.length > maxBytes) throw tooLarge(real, bytes.length, maxBytes);
    return { bytes, sha256: sha256Hex(bytes) };
  } finally {
    await handle.close();
  }
}

/**
 * Reads a text file of at most `maxBytes`.
 * @throws FileRefusedError, `binary_file` among its codes
 */
export async function readText(
  workspace: Workspace,
  real: string,
  maxBytes: number,
): Promise<FileContent & { readonly file: TextFile }> {
  const content = await readContent(workspace, real, maxBytes);
  const file = decodeText(content.bytes);
  if (file.kind === 'binary')
    throw new FileRefusedError('binary_file', `${real} is not text (${content.bytes.length} bytes)`);
  return { ...content, file };
}

/** SHA-256 of a file of any size; null when there is no such file. @throws FileRefusedError for what is no file */
export async function hashFile(workspace: Workspace, real: string): Promise<string | null> {
  let handle: FileHandle;
  try {
    handle = await openFile(workspace, real);
  } catch (error) {
    if (error instanceof FileRefusedError && error.code === 'file_not_found') return null;
    throw error;
  }
  try {
    return await hashHandle(handle);
  } finally {
    await handle.close();
  }
}

async function hashHandle(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  if (size <= SMALL) return sha256Hex(await handle.readFile());
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk);
  return hash.digest('hex');
}

function tooLarge(real: string, size: number, maxBytes: number): FileRefusedError {
  return new FileRefusedError('change_too_large', `${real} has ${size} bytes; the limit is ${maxBytes}`);
}
