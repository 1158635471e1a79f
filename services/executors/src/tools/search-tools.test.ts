import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { channel, makePipe, TestSession, testWorkspace } from '../../test/workspace.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { listDir } from './list-dir.ts';
import { readArtifact } from './read-artifact.ts';

const session = (files: Record<string, string | Uint8Array> = {}): TestSession =>
  new TestSession(testWorkspace(files));

describe('refused before they run', () => {
  test('outside, missing, not a directory', async () => {
    const s = session({ a: '' });
    for (const tool of [listDir, glob, grep]) {
      const codes = (path: string): Promise<string> =>
        s.codes(tool, { path, ...(tool === listDir ? {} : { pattern: 'x' }) });
      expect(await codes('..')).toBe('path_outside_workspace');
      expect(await codes('nope')).toBe('file_not_found');
    }
    expect(await s.codes(listDir, { path: 'a' })).toBe('not_a_regular_file');
    expect(await s.codes(glob, { path: 'a', pattern: 'x' })).toBe('not_a_regular_file');
  });

  test('patterns that are none', async () => {
    const s = session();
    expect(await s.codes(grep, { pattern: '(' })).toBe('invalid_pattern');
    expect(await s.codes(grep, { pattern: 'x', glob: '../*' })).toBe('invalid_pattern');
    expect(await s.codes(glob, { pattern: '/etc/*' })).toBe('invalid_pattern');
    expect(await s.codes(glob, { pattern: 'a/../../*' })).toBe('invalid_pattern');
    expect(await s.codes(grep, { pattern: '' })).toBe('schema_mismatch');
  });

  test('an artifact that is not there', async () => {
    expect(await session().codes(readArtifact, { uri: `artifact://${'0'.repeat(64)}` })).toBe(
      'artifact_not_found',
    );
    expect(await session().codes(readArtifact, { uri: 'file:///etc/passwd' })).toBe('schema_mismatch');
  });
});

test('list_dir shows kinds and sizes, hidden entries too, and no control characters', async () => {
  const s = session({ 'b.txt': '12345', '.hidden': '', 'dir/x': '', 'new\nline': '' });
  symlinkSync('b.txt', s.workspace.at('link'));
  makePipe(s.workspace.at('pipe'));
  const result = await s.call(listDir, {});
  expect(channel(result).split('\n')).toEqual([
    '.hidden\t0',
    'b.txt\t5',
    'dir/',
    'link@',
    'new\\x0aline\t0',
    'pipe\t(special file)',
  ]);
  expect(channel(await s.call(listDir, { path: 'dir' }))).toBe('x\t0');
});

describe('glob', () => {
  test('matches at any depth, hidden directories too, sorted, from a directory', async () => {
    const s = session({ 'a.ts': '', 'src/b.ts': '', 'src/deep/c.ts': '', '.github/d.ts': '', 'x.js': '' });
    expect(channel(await s.call(glob, { pattern: '*.ts' }))).toBe(
      '.github/d.ts\na.ts\nsrc/b.ts\nsrc/deep/c.ts',
    );
    expect(channel(await s.call(glob, { pattern: 'src/*.ts' }))).toBe('src/b.ts');
    expect(channel(await s.call(glob, { pattern: '**/c.ts', path: 'src' }))).toBe('src/deep/c.ts');
    expect(channel(await s.call(glob, { pattern: '*.{ts,js}', path: 'src/deep' }))).toBe('src/deep/c.ts');
  });

  test('ignored files are skipped and counted; rules above the workspace do not hold', async () => {
    const s = session({
      'a.ts': '',
      '.gitignore': 'dist/\n*.log\n',
      'dist/b.ts': '',
      'sub/.gitignore': '!keep.log',
      'sub/keep.log': '',
      'x.log': '',
    });
    writeFileSync(join(s.workspace.outside, '.gitignore'), 'a.ts\n');
    const result = await s.call(glob, { pattern: '**/*' });
    expect(channel(result).split('\n')).toEqual(['.gitignore', 'a.ts', 'sub/.gitignore', 'sub/keep.log']);
    expect(channel(result, 'note')).toBe('2 ignored entries skipped (ignore files)');
  });

  test('an ignore file that is a pipe or a link holds up nothing', async () => {
    const s = session({ 'a.ts': '', 'sub/b.ts': '' });
    makePipe(s.workspace.at('.gitignore'));
    symlinkSync('/dev/zero', s.workspace.at('sub/.gitignore'));
    expect(channel(await s.call(glob, { pattern: '*.ts' }))).toBe('a.ts\nsub/b.ts');
  });

  test('does not follow links out, nor look into .git', async () => {
    const s = session({ '.git/config': '', a: '' });
    mkdirSync(join(s.workspace.outside, 'other'));
    writeFileSync(join(s.workspace.outside, 'other', 'secret'), '');
    symlinkSync('../other', s.workspace.at('link'));
    expect(channel(await s.call(glob, { pattern: '**/*' }))).toBe('a\nlink');
  });

  test('nothing found is said', async () => {
    expect(channel(await session().call(glob, { pattern: '*.x' }), 'note')).toBe('no files');
  });
});

describe('grep', () => {
  test('finds lines, in hidden directories too, and says what was skipped', async () => {
    const s = session({
      '.gitignore': '.env\n',
      '.env': 'API_KEY=1\n',
      '.github/workflows/ci.yml': 'env: API_KEY\n',
      'src/a.ts': 'one\r\nconst k = API_KEY;\r\n',
      bin: Buffer.from('API_KEY\0'),
    });
    const result = await s.call(grep, { pattern: 'API_KEY' });
    expect(channel(result)).toBe('.github/workflows/ci.yml:1:env: API_KEY\nsrc/a.ts:2:const k = API_KEY;');
    expect(channel(result, 'note')).toBe('1 ignored entry skipped (ignore files)\n1 binary file skipped');
  });

  test('case, a glob, one file, a limit', async () => {
    const s = session({ 'a.ts': 'Foo\nfoo\n', 'b.js': 'foo\n', 'deep/c.ts': 'foo\n' });
    expect(channel(await s.call(grep, { pattern: 'FOO', ignoreCase: true, glob: '*.ts' }))).toBe(
      'a.ts:1:Foo\na.ts:2:foo\ndeep/c.ts:1:foo',
    );
    expect(channel(await s.call(grep, { pattern: 'foo', path: 'a.ts' }))).toBe('a.ts:2:foo');
    const limited = await s.call(grep, { pattern: 'foo', limit: 1 });
    expect(channel(limited)).toBe('a.ts:2:foo');
    expect(channel(limited, 'note')).toBe('1 hits shown; there are more');
  });

  test('a hit in a long line is clipped around it, with the true length', async () => {
    const s = session({ 'min.js': `${'x'.repeat(300_000)}needle${'y'.repeat(350_000)}`, 'a.js': 'needle\n' });
    const text = channel(await s.call(grep, { pattern: 'needle' }));
    expect(text).toContain('a.js:1:needle');
    expect(text).toContain('needle');
    expect(text).toContain('[line of 650006 characters]');
    expect(text.length).toBeLessThan(1000);
  });

  test('control characters of a file do not reach the terminal', async () => {
    const s = session({ a: 'x\u001b[31mred\ty\n' });
    expect(channel(await s.call(grep, { pattern: 'red' }))).toBe('a:1:x\\x1b[31mred\ty');
  });

  test('a pattern that takes for ever is ended, and the next search works', async () => {
    const s = session({ a: `${'a'.repeat(50)}!\n` });
    const controller = new AbortController();
    setTimeout(() => controller.abort('timeout'), 300);
    const result = await s.call(grep, { pattern: '^(a+)+$' }, { signal: controller.signal });
    expect(result).toMatchObject({ outcome: 'failed', code: 'timeout' });
    expect(channel(await s.call(grep, { pattern: '^a+!$' }))).toContain('a:1:');
  });

  test('a pattern that the strict syntax refuses is still a pattern', async () => {
    const s = session({ a: 'a-b_c\n' });
    expect(channel(await s.call(grep, { pattern: 'a\\-b\\_c' }))).toBe('a:1:a-b_c');
  });
});

describe('read_artifact', () => {
  const withArtifact = (text: string): [TestSession, string] => {
    const s = session();
    const { uri } = s.context([]).attach(Buffer.from(text), { mediaType: 'text/plain' });
    return [s, uri];
  };

  test('lines, a range, a pattern', async () => {
    const [s, uri] = withArtifact('one\ntwo\nthree\nfour\n');
    expect(channel(await s.call(readArtifact, { uri }))).toBe('one\ntwo\nthree\nfour');
    const part = await s.call(readArtifact, { uri, offset: 2, limit: 2 });
    expect([channel(part), channel(part, 'note')]).toEqual(['two\nthree', 'lines 2 to 3 of 4']);
    expect(channel(await s.call(readArtifact, { uri, pattern: 't' }))).toBe('2:two\n3:three');
  });

  test('raw output of a program is shown harmless', async () => {
    const [s, uri] = withArtifact('ok\0 \u001b[31mred\u001b[0m end\n');
    const text = channel(await s.call(readArtifact, { uri }));
    expect(text).toMatch(/^ok. red end$/u);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(text).not.toMatch(/[\u0000-\u001f]/);
  });
});
