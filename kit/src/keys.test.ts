import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureKeys, keySpecOf, loadKeys, saveKeys } from './keys.ts';

let dir: string;
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'interlock-keys-')), 'keys');
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

test('makes what is missing and keeps what is there', async () => {
  const first = await ensureKeys(dir, ['validator', 'executor-fs']);
  const again = await ensureKeys(dir, [
    'validator',
    'executor-fs',
    { name: 'ada', role: 'client', person: 'ada' },
  ]);
  expect([...again.signers.keys()].sort()).toEqual(['ada', 'executor-fs', 'validator']);
  expect(again.signers.get('validator')?.keyid).toBe(first.signers.get('validator')?.keyid);
  const fs = again.signers.get('executor-fs');
  expect(again.keyRing.find(fs?.keyid ?? '')).toMatchObject({
    role: 'executor',
    pool: 'fs',
    publicKey: fs?.publicKey,
  });
  expect((await stat(join(dir, 'validator.key'))).mode & 0o777).toBe(0o600);
  expect((await readdir(dir)).sort()).toEqual(['ada.key', 'executor-fs.key', 'trust.json', 'validator.key']);
});

test('is safe when many make them at once', async () => {
  const names = ['validator', 'observer', 'policy-engine', 'executor-fs'];
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, n) => ensureKeys(dir, names.slice(0, 1 + (n % 4)))),
  );
  const final = await loadKeys(dir);
  expect(final.keyRing.list()).toHaveLength(4);
  for (const { signers } of all) {
    for (const [name, signer] of signers) expect(signer.keyid).toBe(final.signers.get(name)?.keyid);
  }
  expect((await readdir(dir)).filter((file) => !/^(trust\.json|[\w-]+\.key)$/.test(file))).toEqual([]);
});

test('takes over the lock of one that died', async () => {
  await ensureKeys(dir, ['validator']);
  const lock = join(dir, '.lock');
  await writeFile(lock, '1');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(lock, longAgo, longAgo);
  await ensureKeys(dir, ['observer']);
  expect((await loadKeys(dir)).keyRing.list()).toHaveLength(2);
});

test('adds keys of others', async () => {
  const other = await ensureKeys(join(dir, 'other'), [{ name: 'bob', role: 'client', person: 'bob' }]);
  await ensureKeys(dir, ['observer']);
  await saveKeys(dir, other.keyRing.list());
  const { signers, keyRing } = await loadKeys(dir);
  expect([...signers.keys()]).toEqual(['observer']);
  expect(keyRing.list().map(({ person }) => person)).toContain('bob');
  expect(await readFile(join(dir, 'trust.json'), 'utf8')).not.toContain('PRIVATE');
});

test('knows what a name speaks for', () => {
  expect(keySpecOf('observer')).toEqual({ name: 'observer', role: 'observer' });
  expect(keySpecOf('executor-mcp')).toEqual({ name: 'executor-mcp', role: 'executor', pool: 'mcp' });
  expect(() => keySpecOf('somebody')).toThrow(TypeError);
});

test('refuses what is no key', async () => {
  await ensureKeys(dir, ['observer']);
  await writeFile(join(dir, 'observer.key'), 'not a key');
  await expect(loadKeys(dir)).rejects.toThrow();
  expect((await loadKeys(join(dir, 'nowhere'))).keyRing.list()).toEqual([]);
});
