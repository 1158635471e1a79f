/**
 * Keys on disk: `<dir>/<name>.key` (private, mode 600) and `<dir>/trust.json` (public keys and what they speak for).
 *
 * K1. A key file appears whole or not at all, and is never replaced: of two processes that make it, one wins.
 * K2. `trust.json` is replaced as a whole, under a lock, and only ever grows.
 */
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isToken, ROLES, type Role } from '@interlock/contracts';
import { z } from 'zod';
import { createSigner, generateKeyPair, KeyRing, type Signer, type TrustedKey } from './signing.ts';

/** A key to make: its file's name and what it speaks for. */
export interface KeySpec {
  readonly name: string;
  readonly role: Role;
  readonly pool?: string | undefined;
  readonly person?: string | undefined;
}

export interface LoadedKeys {
  /** By file name: `validator`, `executor-fs`, … */
  readonly signers: ReadonlyMap<string, Signer>;
  readonly keyRing: KeyRing;
}

const trustSchema = z.array(
  z.object({
    keyid: z.string(),
    role: z.enum(ROLES),
    publicKey: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
    person: z.string().optional(),
    pool: z.string().optional(),
  }),
);

/** What a bare name speaks for: a role, or `executor-<pool>`. Throws for any other name. */
export function keySpecOf(name: string): KeySpec {
  const role = ROLES.find((candidate) => candidate === name);
  if (role) return { name, role };
  const pool = /^executor-(.+)$/.exec(name)?.[1];
  if (pool) return { name, role: 'executor', pool };
  throw new TypeError(`"${name}" is neither a role nor executor-<pool>`);
}

/**
 * Makes what is missing in `dir`, and the directory. Safe when several processes do it at once.
 * @param names roles, `executor-<pool>`, or full specs
 */
export async function ensureKeys(dir: string, names: readonly (string | KeySpec)[]): Promise<LoadedKeys> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const specs = names.map((name) => (typeof name === 'string' ? keySpecOf(name) : name));
  const trusted: TrustedKey[] = [];
  for (const { name, role, pool, person } of specs) {
    if (!isToken(name)) throw new TypeError(`"${name}" is not a name for a key`);
    const { keyid, publicKey } = createSigner(await ensurePrivateKey(join(dir, `${name}.key`)));
    trusted.push({ keyid, role, publicKey, pool, person });
  }
  await saveKeys(dir, trusted);
  return loadKeys(dir);
}

async function ensurePrivateKey(path: string): Promise<string> {
  const existing = await readFile(path, 'utf8').catch(ignoreMissing);
  if (existing !== null) return existing.trim();
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, `${generateKeyPair().privateKey}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link fails where a rename would replace the other process's key.
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}

/** Adds keys to `trust.json`; a key that is there already is replaced by what is given. */
export async function saveKeys(dir: string, keys: readonly TrustedKey[]): Promise<void> {
  await withLock(join(dir, '.lock'), async () => {
    const all = new Map((await readTrust(dir)).map((key) => [key.keyid, key]));
    for (const key of keys) all.set(key.keyid, key);
    const path = join(dir, 'trust.json');
    const draft = `${path}.${process.pid}`;
    const sorted = [...all.values()].sort((a, b) => (a.keyid < b.keyid ? -1 : 1));
    await writeFile(draft, `${JSON.stringify(sorted, null, 2)}\n`, { mode: 0o644 });
    await rename(draft, path);
  });
}

/**
 * Reads the private keys that are in `dir` and the public keys that are trusted.
 * A directory without keys gives an empty ring. Throws when a file is there but is no key.
 */
export async function loadKeys(dir: string): Promise<LoadedKeys> {
  const signers = new Map<string, Signer>();
  for (const file of (await readdir(dir).catch(ignoreMissing)) ?? []) {
    if (!file.endsWith('.key')) continue;
    signers.set(
      file.slice(0, -'.key'.length),
      createSigner((await readFile(join(dir, file), 'utf8')).trim()),
    );
  }
  return { signers, keyRing: new KeyRing(await readTrust(dir)) };
}

async function readTrust(dir: string): Promise<TrustedKey[]> {
  const text = await readFile(join(dir, 'trust.json'), 'utf8').catch(ignoreMissing);
  return text === null ? [] : trustSchema.parse(JSON.parse(text));
}

/** A holder that died leaves its lock; after this long it is taken over. */
const LOCK_STALE_MS = 10_000;

async function withLock(path: string, act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const held = await stat(path).catch(ignoreMissing);
    if (held && Date.now() - held.mtimeMs > LOCK_STALE_MS) await rm(path, { force: true });
    else await sleep(20);
  }
  try {
    await act();
  } finally {
    await rm(path, { force: true });
  }
}

function ignoreMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
