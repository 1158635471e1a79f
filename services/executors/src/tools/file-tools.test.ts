import { chmodSync, existsSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { channel, makePipe, sha, TestSession, testWorkspace } from '../../test/workspace.ts';
import { draftName } from '../workspace/atomic-write.ts';
import { editFile } from './edit-file.ts';
import { readFile } from './read-file.ts';
import { writeFile } from './write-file.ts';

const session = (files: Record<string, string | Uint8Array> = {}): TestSession =>
  new TestSession(testWorkspace(files));

describe('edit_file is refused before it is decided', () => {
  test('unread, changed, missing, no file, binary', async () => {
    const s = session({ 'a.txt': 'a\n', bin: Buffer.from([0, 1]) });
    makePipe(s.workspace.at('pipe'));
    const edit = (path: string): Promise<string> => s.codes(editFile, { path, oldText: 'a', newText: 'b' });
    expect(await edit('a.txt')).toBe('file_not_read');
    expect(await edit('nope.txt')).toBe('file_not_found');
    expect(await edit('.')).toBe('not_a_regular_file');
    expect(await edit('pipe')).toBe('not_a_regular_file');
    expect(await edit('bin')).toBe('binary_file');
    expect(await edit('../x')).toBe('path_outside_workspace');
  });

  test('a file that somebody changed, with what changed', async () => {
    const s = session({ 'c.json': '{"a":1}\n' });
    await s.call(readFile, { path: 'c.json' });
    s.workspace.write('c.json', '{"a":1,"user":true}\n');
    expect(await s.codes(editFile, { path: 'c.json', oldText: '1', newText: '2' })).toBe('file_changed');
    const message = await s.message(writeFile, { path: 'c.json', content: '{"a":2}\n' });
    expect(message).toContain('c.json changed since it was last read');
    expect(message).toContain('+{"a":1,"user":true}');
    expect(s.workspace.text('c.json')).toContain('user');
  });

  test('not found with a hint, not unique with lines, nothing to change, too large', async () => {
    const s = session({ 'a.txt': 'foo\nbar\nfoo\n' });
    await s.call(readFile, { path: 'a.txt' });
    const message = (oldText: string, newText = 'x'): Promise<string> =>
      s.message(editFile, { path: 'a.txt', oldText, newText });
    expect(await message('b ar')).toContain('line 2 differs only in white space');
    expect(await message('foo')).toBe('oldText occurs 2 times, at lines 1, 3');
    expect(await s.codes(editFile, { path: 'a.txt', oldText: 'bar', newText: 'bar' })).toBe('no_change');
    s.limits = { ...s.limits, maxChangeBytes: 10 };
    expect(await s.codes(editFile, { path: 'a.txt', oldText: 'bar', newText: 'x'.repeat(11) })).toBe(
      'change_too_large',
    );
  });

  test('neither or both forms, empty old text, unknown keys', async () => {
    const s = session({ 'a.txt': 'a' });
    const codes = (input: object): Promise<string> => s.codes(editFile, { path: 'a.txt', ...input });
    expect(await codes({})).toBe('schema_mismatch');
    expect(await codes({ oldText: 'a' })).toBe('schema_mismatch');
    expect(await codes({ oldText: 'a', newText: 'b', edits: [{ oldText: 'a', newText: 'b' }] })).toBe(
      'schema_mismatch',
    );
    expect(await codes({ oldText: '', newText: 'b' })).toBe('schema_mismatch');
    expect(await codes({ oldText: 'a', newText: 'b', force: true })).toBe('schema_mismatch');
    expect(s.workspace.text('a.txt')).toBe('a');
  });

  test('a character that the file’s encoding has not', async () => {
    const s = session({ 'l1.txt': Buffer.from([0x63, 0xe9, 0x0a]) });
    await s.call(readFile, { path: 'l1.txt' });
    expect(await s.codes(editFile, { path: 'l1.txt', oldText: 'c', newText: '€' })).toBe('schema_mismatch');
  });
});

describe('edit_file changes what it says and nothing else', () => {
  test('CR LF, byte order mark, mode, link, encoding', async () => {
    const s = session({
      'a.txt': 'alpha\r\nbeta\r\ngamma\r\n',
      'm.py': '\ufeffimport os\nprint(1)\n',
      'u.ini': Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('key=value\r\n', 'utf16le')]),
      'go.sh': '#!/bin/sh\necho A\n',
    });
    chmodSync(s.workspace.at('go.sh'), 0o755);
    symlinkSync('go.sh', s.workspace.at('link.sh'));
    const edit = async (path: string, oldText: string, newText: string): Promise<void> => {
      await s.call(readFile, { path });
      expect(await s.call(editFile, { path, oldText, newText })).toMatchObject({ outcome: 'success' });
    };
    await edit('a.txt', 'alpha\nbeta', 'ALPHA\nBETA');
    expect(s.workspace.text('a.txt')).toBe('ALPHA\r\nBETA\r\ngamma\r\n');
    await edit('m.py', 'import os\n', 'import sys\n');
    expect(s.workspace.text('m.py')).toBe('\ufeffimport sys\nprint(1)\n');
    await edit('u.ini', 'value', 'wert');
    expect(s.workspace.read('u.ini').subarray(2).toString('utf16le')).toBe('key=wert\r\n');
    await edit('link.sh', 'echo A', 'echo B');
    expect(s.workspace.text('go.sh')).toBe('#!/bin/sh\necho B\n');
    expect(statSync(s.workspace.at('go.sh')).mode & 0o777).toBe(0o755);
    expect(existsSync(s.workspace.at('link.sh'))).toBe(true);
  });

  test('two edits in a row need no second read, a touch is no change', async () => {
    const s = session({ 'r.md': 'one\ntwo\n' });
    await s.call(readFile, { path: 'r.md' });
    utimesSync(s.workspace.at('r.md'), new Date(), new Date(Date.now() + 60_000));
    await s.call(editFile, { path: 'r.md', oldText: 'one', newText: 'ONE' });
    await s.call(editFile, { path: 'r.md', oldText: 'two', newText: 'TWO' });
    expect(s.workspace.text('r.md')).toBe('ONE\nTWO\n');
  });

  test('several edits, all or nothing', async () => {
    const s = session({ a: '1\n2\n3\n' });
    await s.call(readFile, { path: 'a' });
    const bad = {
      path: 'a',
      edits: [
        { oldText: '1', newText: 'x' },
        { oldText: '9', newText: 'y' },
      ],
    };
    expect(await s.codes(editFile, bad)).toBe('text_not_found');
    await s.call(editFile, {
      path: 'a',
      edits: [
        { oldText: '3', newText: 'c' },
        { oldText: '1', newText: 'a' },
      ],
    });
    expect(s.workspace.text('a')).toBe('a\n2\nc\n');
  });

  test('the fact has the effect with both hashes and a diff, and the new content as read', async () => {
    const s = session({ a: 'old\n' });
    await s.call(readFile, { path: 'a' });
    const result = await s.call(editFile, { path: s.workspace.at('a'), oldText: 'old', newText: 'new' });
    expect(result.effects).toMatchObject({
      scope: 'declared',
      files: [{ path: 'a', change: 'changed', before: sha('old\n'), after: sha('new\n') }],
    });
    expect(s.diffs()).toEqual(['--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-old\n+new\n']);
    expect(result.reads).toEqual([{ path: s.workspace.at('a'), sha256: sha('new\n'), range: null }]);
  });
});

describe('edit_file checks again when it runs', () => {
  test('a change after the decision survives', async () => {
    const s = session({ 'w.txt': 'base\n' });
    await s.call(readFile, { path: 'w.txt' });
    const judged = await s.preflight(editFile, { path: 'w.txt', oldText: 'base', newText: 'agent' });
    if (!judged.ok) throw new Error('refused');
    s.workspace.write('w.txt', 'base\nhuman line\n');
    await expect(editFile.execute(judged.input, s.context(judged.baselines))).rejects.toMatchObject({
      code: 'stale_baseline',
    });
    expect(s.workspace.text('w.txt')).toBe('base\nhuman line\n');
  });

  test('of two calls at once on one file, one is refused', async () => {
    const s = session({ a: '1\n2\n' });
    await s.call(readFile, { path: 'a' });
    const first = await s.preflight(editFile, { path: 'a', oldText: '1', newText: 'A' });
    const second = await s.preflight(editFile, { path: 'a', oldText: '2', newText: 'B' });
    if (!first.ok || !second.ok) throw new Error('refused');
    const [one, other] = await Promise.allSettled([
      editFile.execute(first.input, s.context(first.baselines)),
      editFile.execute(second.input, s.context(second.baselines)),
    ]);
    const done = [one, other].filter(({ status }) => status === 'fulfilled').length;
    expect(s.workspace.text('a')).toBe(
      done === 2 ? 'A\nB\n' : one.status === 'fulfilled' ? 'A\n2\n' : '1\nB\n',
    );
    expect(done).toBe(1);
  });

  test('a stopped call writes nothing', async () => {
    const s = session({ a: '1\n' });
    await s.call(readFile, { path: 'a' });
    const judged = await s.preflight(editFile, { path: 'a', oldText: '1', newText: '2' });
    if (!judged.ok) throw new Error('refused');
    const context = s.context(judged.baselines, { signal: AbortSignal.abort('cancelled') });
    await expect(editFile.execute(judged.input, context)).rejects.toMatchObject({ code: 'aborted' });
    expect(s.workspace.text('a')).toBe('1\n');
  });
});

describe('write_file', () => {
  test('makes a file with the directories above it', async () => {
    const s = session();
    const result = await s.call(writeFile, { path: 'deep/er/new.txt', content: 'hello\n' });
    expect(s.workspace.text('deep/er/new.txt')).toBe('hello\n');
    expect(result.effects.files).toMatchObject([
      { path: 'deep/er/new.txt', change: 'added', before: null, after: sha('hello\n') },
    ]);
  });

  test('never over an unread file, nor one that appeared since', async () => {
    const s = session({ a: 'theirs' });
    expect(await s.codes(writeFile, { path: 'a', content: 'x' })).toBe('file_not_read');
    const judged = await s.preflight(writeFile, { path: 'b', content: 'x' });
    if (!judged.ok) throw new Error('refused');
    s.workspace.write('b', 'theirs');
    await expect(writeFile.execute(judged.input, s.context(judged.baselines))).rejects.toMatchObject({
      code: 'stale_baseline',
    });
    expect(s.workspace.text('b')).toBe('theirs');
  });

  test('keeps encoding, mark and CR LF of what it replaces', async () => {
    const s = session({ a: '\ufeffone\r\ntwo\r\n', b: 'lf\n' });
    await s.call(readFile, { path: 'a' });
    await s.call(readFile, { path: 'b' });
    await s.call(writeFile, { path: 'a', content: 'three\nfour\n' });
    await s.call(writeFile, { path: 'b', content: 'x\r\ny\n' });
    expect(s.workspace.text('a')).toBe('\ufeffthree\r\nfour\r\n');
    expect(s.workspace.text('b')).toBe('x\r\ny\n');
  });

  test('the same content again, and too much of it, are refused', async () => {
    const s = session({ a: 'same' });
    await s.call(readFile, { path: 'a' });
    expect(await s.codes(writeFile, { path: 'a', content: 'same' })).toBe('no_change');
    expect(await s.codes(writeFile, { path: 'b', content: 'x'.repeat(2 * 1024 * 1024) })).toBe(
      'change_too_large',
    );
  });

  test('git’s own files and policy are beyond the workspace', async () => {
    const s = session();
    for (const path of ['.git/hooks/pre-commit', 'sub/.git/config', '.interlock/policy.yaml']) {
      const judged = await s.preflight(writeFile, { path, content: 'x' });
      expect(judged.ok && judged.assessment.effects).toEqual(['writes-outside']);
    }
    const plain = await s.preflight(writeFile, { path: 'a', content: 'x\n' });
    expect(plain.ok && plain.assessment).toMatchObject({
      effects: ['writes-workspace'],
      paths: [{ path: 'a', real: s.workspace.at('a'), access: 'write', inside: true }],
      summary: 'create a: 1 lines added, 0 removed',
    });
  });
});

describe('a look at the world after a lost worker', () => {
  test('an edit: proven, not made, or somebody else’s', async () => {
    const s = session({ a: 'one\ntwo\n' });
    await s.call(readFile, { path: 'a' });
    const call = { path: 'a', oldText: 'two', newText: 'TWO' };
    const judged = await s.preflight(editFile, call);
    if (!judged.ok || !editFile.probe) throw new Error('refused');
    const look = () => editFile.probe?.(judged.input, s.context(judged.baselines));
    expect(await look()).toMatchObject({ verdict: 'unknown', detail: 'a is as it was before the call' });
    s.workspace.write('a', 'one\nTWO\n');
    expect(await look()).toMatchObject({
      verdict: 'done',
      effects: { files: [{ path: 'a', before: sha('one\ntwo\n'), after: sha('one\nTWO\n') }] },
      reads: [{ path: s.workspace.at('a'), sha256: sha('one\nTWO\n') }],
    });
    s.workspace.write('a', 'one\nTWO\nmore\n');
    expect(await look()).toMatchObject({ verdict: 'unknown' });
    rmSync(s.workspace.at('a'));
    expect(await look()).toMatchObject({ verdict: 'unknown', detail: 'a does not exist' });
  });

  test('a write: proven by its content; a draft is removed', async () => {
    const s = session();
    const judged = await s.preflight(writeFile, { path: 'b', content: 'new\n' });
    if (!judged.ok || !writeFile.probe) throw new Error('refused');
    const context = s.context(judged.baselines);
    s.workspace.write(draftName(context.intent), 'ne');
    expect(await writeFile.probe(judged.input, context)).toMatchObject({
      verdict: 'unknown',
      detail: expect.stringContaining('does not exist'),
    });
    expect(existsSync(s.workspace.at(draftName(context.intent)))).toBe(false);
    s.workspace.write('b', 'new\n');
    expect(await writeFile.probe(judged.input, context)).toMatchObject({
      verdict: 'done',
      effects: { files: [{ change: 'added' }] },
    });
  });
});

describe('read_file', () => {
  test('is refused for what is no text file, before it is opened', async () => {
    const s = session({ 'dir/x': '', bin: Buffer.from('%PDF\0\u0001') });
    makePipe(s.workspace.at('pipe'));
    symlinkSync('/dev/zero', s.workspace.at('zero'));
    expect(await s.codes(readFile, { path: 'dir' })).toBe('not_a_regular_file');
    expect(await s.message(readFile, { path: 'dir' })).toBe('dir is a directory');
    expect(await s.codes(readFile, { path: 'pipe' })).toBe('not_a_regular_file');
    expect(await s.codes(readFile, { path: 'zero' })).toBe('path_outside_workspace');
    expect(await s.codes(readFile, { path: 'bin' })).toBe('binary_file');
    expect(await s.codes(readFile, { path: 'nope' })).toBe('file_not_found');
    expect(await s.codes(readFile, { path: 'x', offset: 0 })).toBe('schema_mismatch');
  });

  test('shows the lines as they are, without a mark, with the hash of the whole file', async () => {
    const s = session({ a: '\ufeffone\r\ntwo\r\n' });
    const result = await s.call(readFile, { path: 'a' });
    expect(channel(result)).toBe('one\ntwo');
    expect(result.reads).toEqual([
      { path: s.workspace.at('a'), sha256: sha('\ufeffone\r\ntwo\r\n'), range: null },
    ]);
  });

  test('a range says what it is of, and how to go on', async () => {
    const s = session({ a: Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join('\n') });
    const result = await s.call(readFile, { path: 'a', offset: 11, limit: 5 });
    expect(channel(result).split('\n')).toEqual(['line 11', 'line 12', 'line 13', 'line 14', 'line 15']);
    expect(channel(result, 'note')).toBe('lines 11 to 15 of 30; go on with offset 16');
    expect(result.reads).toMatchObject([{ range: { from: 11, to: 15 } }]);
    const beyond = await s.call(readFile, { path: 'a', offset: 99 });
    expect(channel(beyond, 'note')).toBe('a has 30 lines; none from line 99');
    expect(
      channel(await s.call(readFile, { path: 'a' }, { budgets: { timeoutMs: 1, outputBytes: 20 } }), 'note'),
    ).toContain('go on with offset 3');
  });

  test('a long line is clipped, and it says so', async () => {
    const s = session({ 'min.js': 'x'.repeat(480_000) });
    const result = await s.call(readFile, { path: 'min.js' });
    expect(channel(result)).toHaveLength(2000);
    expect(channel(result, 'note')).toContain(
      'line 1 is clipped at 2000 of 480000 characters; the rest cannot be read this way',
    );
    expect(result.output[0]?.omittedBytes).toBe(478_000);
  });

  test('an empty file is empty, another encoding is named', async () => {
    const s = session({
      empty: '',
      u: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('a=b\r\n', 'utf16le')]),
    });
    expect(channel(await s.call(readFile, { path: 'empty' }), 'note')).toBe('empty is empty');
    const result = await s.call(readFile, { path: 'u' });
    expect([channel(result), channel(result, 'note')]).toEqual(['a=b', 'encoding utf16le']);
  });

  test('a file that is larger than memory would like is streamed', async () => {
    const line = `${'y'.repeat(99)}\n`;
    const big = `${'x'.repeat(3_000_000)}\n${line.repeat(80_000)}`;
    const s = session({ big });
    const result = await s.call(readFile, { path: 'big', offset: 1, limit: 2 });
    expect(result.reads).toMatchObject([{ sha256: sha(big), range: { from: 1, to: 2 } }]);
    expect(channel(result, 'note')).toContain('lines 1 to 2 of 80001');
    expect(channel(result, 'note')).toContain('of 3000000 characters');
    expect(result.output[0]?.omittedBytes).toBe(3_000_000 - 2000);
  });

  test('a secret is read by its name', async () => {
    const s = session({ '.env': 'K=1\n' });
    const judged = await s.preflight(readFile, { path: '.env' });
    expect(judged.ok && judged.assessment.effects).toEqual(['read-only', 'reads-secrets']);
  });
});
