import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makePipe, type TestWorkspace, temporaryFolder, testWorkspace } from '../../test/workspace.ts';
import { FileRefusedError, openFile } from './open.ts';
import { openWorkspace, resolvePath } from './paths.ts';
import { readText } from './read-content.ts';

const codeOf = async (workspace: TestWorkspace, path: string): Promise<string> => {
  const resolved = await resolvePath(workspace, path);
  return resolved.ok ? resolved.kind : resolved.code;
};

describe('a path that leads out is refused', () => {
  const workspace = (): TestWorkspace => {
    const made = testWorkspace({ 'a.txt': 'a', 'dir/b.txt': 'b' });
    writeFileSync(join(made.outside, 'secret'), 's');
    return made;
  };

  test.each(['../secret', 'dir/../../secret', '/etc/passwd', '/', '..', 'a.txt/../../secret'])(
    '%s',
    async (path) => {
      expect(await codeOf(workspace(), path)).toBe('path_outside_workspace');
    },
  );

  test('a sibling whose name begins like the workspace', async () => {
    const made = workspace();
    expect(await codeOf(made, `${made.root}-other/x`)).toBe('path_outside_workspace');
  });

  test('through a link, to a file, a directory, or what is yet to be made', async () => {
    const made = workspace();
    symlinkSync(join(made.outside, 'secret'), made.at('link'));
    symlinkSync(made.outside, made.at('up'));
    symlinkSync('/etc', made.at('etc'));
    expect(await codeOf(made, 'link')).toBe('path_outside_workspace');
    expect(await codeOf(made, 'up/secret')).toBe('path_outside_workspace');
    expect(await codeOf(made, 'up/new/file')).toBe('path_outside_workspace');
    expect(await codeOf(made, 'etc/passwd')).toBe('path_outside_workspace');
  });

  test('through /proc, wherever it leads', async () => {
    const made = workspace();
    for (const path of [
      '/proc/self/root/etc/passwd',
      `/proc/self/root${made.root}/a.txt`,
      '/proc/self/environ',
      '/proc/1/environ',
    ])
      expect(await codeOf(made, path)).toBe('path_outside_workspace');
    symlinkSync('/proc/self/root', made.at('proc'));
    expect(await codeOf(made, 'proc/etc/passwd')).toBe('path_outside_workspace');
  });

  test('into what the house hides', async () => {
    const made = workspace();
    made.write('.interlock/state/keys/policy-engine.key', 'k');
    const opened = await openWorkspace(made.root, { roots: [], hidden: [made.at('.interlock/state')] });
    if (!opened.ok) throw new Error(opened.message);
    for (const path of [
      '.interlock/state',
      '.interlock/state/keys/policy-engine.key',
      '.interlock/state/new',
    ])
      expect(await resolvePath(opened.workspace, path)).toMatchObject({
        ok: false,
        code: 'path_outside_workspace',
      });
    expect(await resolvePath(opened.workspace, '.interlock/policy.yaml')).toMatchObject({ ok: true });
  });
});

describe('a path that is none is refused', () => {
  test.each(['', 'a\0b', 'a\nb', '\u007f', '\ud800', 'x'.repeat(256), 'a/'.repeat(3000)])(
    '%j',
    async (path) => {
      expect(await codeOf(testWorkspace(), path)).toBe('invalid_path');
    },
  );

  test('a circle of links', async () => {
    const made = testWorkspace();
    symlinkSync('b', made.at('a'));
    symlinkSync('a', made.at('b'));
    expect(await codeOf(made, 'a')).toBe('invalid_path');
  });
});

describe('a path inside resolves to what the kernel sees', () => {
  test('relative, absolute, with dots, by another name of the workspace', async () => {
    const made = testWorkspace({ 'dir/b.txt': 'b' });
    const alias = join(made.outside, 'alias');
    symlinkSync(made.root, alias);
    const opened = await openWorkspace(alias, { roots: [], hidden: [] });
    if (!opened.ok) throw new Error(opened.message);
    for (const path of [
      'dir/b.txt',
      './dir/../dir/b.txt',
      made.at('dir/b.txt'),
      `${alias}/dir/b.txt`,
      'dir//b.txt',
    ])
      expect(await resolvePath(opened.workspace, path)).toMatchObject({
        relative: 'dir/b.txt',
        real: made.at('dir/b.txt'),
      });
    expect(await resolvePath(opened.workspace, '.')).toMatchObject({ relative: '.', kind: 'directory' });
  });

  test('a link within the workspace is its target', async () => {
    const made = testWorkspace({ 'dir/b.txt': 'b' });
    symlinkSync('dir', made.at('link'));
    expect(await resolvePath(made, 'link/b.txt')).toMatchObject({ ok: true, relative: 'dir/b.txt' });
    expect(await resolvePath(made, 'link/new/c.txt')).toMatchObject({
      relative: 'dir/new/c.txt',
      kind: 'missing',
    });
  });

  test('what is missing, a link to nothing, a file in place of a directory', async () => {
    const made = testWorkspace({ 'a.txt': 'a' });
    symlinkSync('nowhere', made.at('dangling'));
    expect(await codeOf(made, 'no/such/file')).toBe('missing');
    expect(await codeOf(made, 'dangling')).toBe('file_not_found');
    expect(await codeOf(made, 'a.txt/x')).toBe('file_not_found');
  });

  test('a pipe is told from a file without being opened', async () => {
    const made = testWorkspace();
    makePipe(made.at('pipe'));
    expect(await codeOf(made, 'pipe')).toBe('other');
  });
});

describe('what was resolved is what is opened', () => {
  test('a file replaced by a link is refused', async () => {
    const made = testWorkspace({ 'a.txt': 'a' });
    rmSync(made.at('a.txt'));
    symlinkSync('/etc/passwd', made.at('a.txt'));
    await expect(openFile(made, made.at('a.txt'))).rejects.toMatchObject({ code: 'path_outside_workspace' });
  });

  test('a directory replaced by a link is refused', async () => {
    const made = testWorkspace({ 'dir/passwd': 'a' });
    renameSync(made.at('dir'), made.at('old'));
    symlinkSync('/etc', made.at('dir'));
    await expect(openFile(made, made.at('dir/passwd'))).rejects.toMatchObject({
      code: 'path_outside_workspace',
    });
  });

  test('a pipe does not block', async () => {
    const made = testWorkspace();
    makePipe(made.at('pipe'));
    await expect(openFile(made, made.at('pipe'))).rejects.toMatchObject({ code: 'not_a_regular_file' });
  });

  test('binary and too large', async () => {
    const made = testWorkspace({ bin: Buffer.from([1, 0, 2]), big: 'x'.repeat(100) });
    await expect(readText(made, made.at('bin'), 1000)).rejects.toMatchObject({ code: 'binary_file' });
    await expect(readText(made, made.at('big'), 99)).rejects.toThrow(FileRefusedError);
  });

  test('a hard link to a file outside can be read, which nobody can tell', async () => {
    const made = testWorkspace();
    writeFileSync(join(made.outside, 'x'), 'x');
    linkSync(join(made.outside, 'x'), made.at('x'));
    expect((await readText(made, made.at('x'), 10)).file.text).toBe('x');
  });
});

describe('workspaces', () => {
  test('must be a directory that exists, by an absolute path', async () => {
    const made = testWorkspace({ file: '' });
    const open = async (path: string): Promise<string> => {
      const opened = await openWorkspace(path, { roots: [], hidden: [] });
      return opened.ok ? 'ok' : opened.code;
    };
    expect(await open('relative')).toBe('invalid_path');
    expect(await open(`${made.root}\0`)).toBe('invalid_path');
    expect(await open(made.at('file'))).toBe('invalid_path');
    expect(await open(made.at('gone'))).toBe('file_not_found');
    expect(await open('/')).toBe('path_outside_workspace');
    expect(await open('/etc')).toBe('path_outside_workspace');
    expect(await open(`${made.root}/`)).toBe('ok');
  });

  test('must be below one of the roots, where there are any', async () => {
    const made = testWorkspace();
    const other = temporaryFolder();
    mkdirSync(join(other, 'x'));
    const policy = { roots: [made.outside], hidden: [] };
    expect(await openWorkspace(made.root, policy)).toMatchObject({ ok: true });
    expect(await openWorkspace(join(other, 'x'), policy)).toMatchObject({
      ok: false,
      code: 'path_outside_workspace',
    });
  });
});
