import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testWorkspace } from '../../test/workspace.ts';
import { draftName, removeDraft, writeAtomically } from './atomic-write.ts';
import { FileRefusedError } from './open.ts';

const nothing = (): Promise<void> => Promise.resolve();
const asRoot = process.getuid?.() === 0;

describe('replacing a file', () => {
  test('keeps its mode', async () => {
    const made = testWorkspace();
    for (const [name, mode] of [
      ['go.sh', 0o755],
      ['secret', 0o600],
    ] as const) {
      made.write(name, 'old', mode);
      chmodSync(made.at(name), mode);
      await writeAtomically({
        workspace: made,
        real: made.at(name),
        bytes: Buffer.from('new'),
        intent: 'i',
        confirm: nothing,
      });
      expect(made.text(name)).toBe('new');
      expect(statSync(made.at(name)).mode & 0o7777).toBe(mode);
    }
  });

  test.runIf(asRoot)('keeps its owner, and gives a new file to the owner of its directory', async () => {
    const made = testWorkspace({ a: 'old', 'dir/x': '' });
    chownSync(made.at('a'), 1234, 1235);
    chownSync(made.at('dir'), 1234, 1235);
    const write = (real: string): Promise<void> =>
      writeAtomically({ workspace: made, real, bytes: Buffer.from('new'), intent: 'i', confirm: nothing });
    await write(made.at('a'));
    await write(made.at('dir/deep/er/new'));
    for (const path of ['a', 'dir/deep', 'dir/deep/er', 'dir/deep/er/new'])
      expect(statSync(made.at(path))).toMatchObject({ uid: 1234, gid: 1235 });
  });

  test('does not write through to another name of the same file', async () => {
    const made = testWorkspace();
    const other = join(made.outside, 'outside.txt');
    writeFileSync(other, 'outside');
    linkSync(other, made.at('inside.txt'));
    await writeAtomically({
      workspace: made,
      real: made.at('inside.txt'),
      bytes: Buffer.from('new'),
      intent: 'i',
      confirm: nothing,
    });
    expect(made.text('inside.txt')).toBe('new');
    expect(statSync(other).size).toBe('outside'.length);
  });
});

describe('a write that is stopped changes nothing', () => {
  test('by its last check', async () => {
    const made = testWorkspace({ a: 'old' });
    const confirm = (): Promise<void> => Promise.reject(new Error('no'));
    await expect(
      writeAtomically({
        workspace: made,
        real: made.at('a'),
        bytes: Buffer.from('new'),
        intent: 'i',
        confirm,
      }),
    ).rejects.toThrow('no');
    expect(made.text('a')).toBe('old');
    expect(readdirSync(made.root)).toEqual(['a']);
  });

  test('because its directory became a link', async () => {
    const made = testWorkspace({ 'dir/a': 'old' });
    mkdirSync(join(made.outside, 'victim'));
    renameSync(made.at('dir'), made.at('moved'));
    symlinkSync(join(made.outside, 'victim'), made.at('dir'));
    await expect(
      writeAtomically({
        workspace: made,
        real: made.at('dir/a'),
        bytes: Buffer.from('new'),
        intent: 'i',
        confirm: nothing,
      }),
    ).rejects.toThrow(FileRefusedError);
    expect(readdirSync(join(made.outside, 'victim'))).toEqual([]);
  });

  test('a directory that becomes a link while it writes receives nothing', async () => {
    const made = testWorkspace({ 'dir/a': 'old' });
    mkdirSync(join(made.outside, 'victim'));
    const confirm = (): Promise<void> => {
      renameSync(made.at('dir'), made.at('moved'));
      symlinkSync(join(made.outside, 'victim'), made.at('dir'));
      return Promise.resolve();
    };
    await writeAtomically({
      workspace: made,
      real: made.at('dir/a'),
      bytes: Buffer.from('new'),
      intent: 'i',
      confirm,
    });
    expect(readdirSync(join(made.outside, 'victim'))).toEqual([]);
    expect(made.text('moved/a')).toBe('new');
  });
});

test('a draft that a crash left is written over, and can be removed', async () => {
  const made = testWorkspace({ a: 'old' });
  made.write(draftName('i'), 'half');
  await writeAtomically({
    workspace: made,
    real: made.at('a'),
    bytes: Buffer.from('new'),
    intent: 'i',
    confirm: nothing,
  });
  expect(readdirSync(made.root)).toEqual(['a']);
  made.write(draftName('j'), 'half');
  await removeDraft(made, made.at('a'), 'j');
  expect(existsSync(made.at(draftName('j')))).toBe(false);
});
