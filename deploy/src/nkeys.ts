/**
 * NKey pairs of broker users: `<dir>/<user>.nk` holds the seed, mode 600. A file that is there is never replaced.
 */
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createUser, fromSeed } from '@nats-io/nkeys';
import { hasCode } from './file-lock.ts';

export interface UserKey {
  /** `U…`, for the server's configuration. */
  readonly publicKey: string;
  readonly seedFile: string;
}

/** Makes what is missing. Safe when several processes do it at once. */
export async function ensureUserKeys(dir: string, names: readonly string[]): Promise<Map<string, UserKey>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const keys = new Map<string, UserKey>();
  for (const name of names) {
    const seedFile = seedFileOf(dir, name);
    const seed = await ensureSeed(seedFile);
    keys.set(name, { publicKey: fromSeed(Buffer.from(seed)).getPublicKey(), seedFile });
  }
  return keys;
}

export function seedFileOf(dir: string, name: string): string {
  return join(dir, `${name}.nk`);
}

async function ensureSeed(path: string): Promise<string> {
  const existing = await readSeed(path);
  if (existing !== null) return existing;
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, `${Buffer.from(createUser().getSeed()).toString()}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link fails where a rename would replace the seed of a process that was faster.
    await link(draft, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}

async function readSeed(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}
