import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { archiveSources } from './debian.mjs';
import { atLeast, run } from './exec.mjs';
import { takeLock } from './lock.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-bootstrap-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['v24.0.0', [24], true],
  ['23.11.1', [24], false],
  ['2.15.1', [2, 14], true],
  ['2.14.0-RC.1', [2, 14], true],
  ['2.9.10', [2, 14], false],
  ['3.0.0', [2, 14], true],
] as const)('%s is at least %s: %s', (version, floor, expected) => {
  expect(atLeast(version, floor)).toBe(expected);
});

describe('the apt sources that are used', () => {
  const sources = (name: string, text: string, suite?: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return archiveSources(suite, [file]);
  };
  const stanza = (suites: string, signedBy: string): string =>
    `Types: deb\nURIs: http://mirror.example/debian\nSuites: ${suites}\nComponents: main contrib\nSigned-By: ${signedBy}\n`;
  const KEY = '/usr/share/keyrings/debian-archive-keyring.gpg';

  test('are all moved to the suite that is wanted, once', () => {
    const text = `${stanza('bookworm bookworm-updates', KEY)}\n${stanza('bookworm-backports', KEY)}`;
    expect(sources('a.sources', text, 'sid')).toBe(
      `Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\nSigned-By: ${KEY}\n`,
    );
  });

  test('keep their own suites when none is named, but not the security part', () => {
    expect(sources('a.sources', stanza('bookworm bookworm-security', KEY))).toContain('Suites: bookworm\n');
    expect(sources('a.sources', stanza('bookworm-security', KEY))).toBe('');
  });

  test('leave out what is disabled, another distribution or another vendor', () => {
    expect(sources('a.sources', `Enabled: no\n${stanza('bookworm', KEY)}`)).toBe('');
    expect(sources('a.sources', stanza('noble', '/usr/share/keyrings/ubuntu-archive-keyring.gpg'))).toBe('');
    expect(
      sources('a.list', 'deb [signed-by=/etc/apt/keyrings/v.gpg] http://v.example/debian bookworm main'),
    ).toBe('');
    expect(sources('a.list', 'deb http://v.example/apt stable main')).toBe('');
    expect(sources('a.list', 'deb-src http://mirror.example/debian bookworm main')).toBe('');
  });

  test('may be single lines', () => {
    const text = '# a comment\ndeb [arch=amd64] http://mirror.example/debian bookworm main contrib\n';
    expect(sources('a.list', text, 'sid')).toBe(
      'Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\n',
    );
  });
});

describe('the lock', () => {
  test('is held by one at a time and given back', async () => {
    const waited: number[] = [];
    const release = await takeLock(folder, () => undefined);
    let second = false;
    const next = takeLock(folder, (pid) => waited.push(pid)).then((give) => {
      second = true;
      return give;
    });
    await expect.poll(() => waited).toEqual([process.pid]);
    expect(second).toBe(false);
    release();
    (await next)();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of a dead process is broken', async () => {
    const dead = Number((await run(process.execPath, ['-p', 'process.pid'])).stdout);
    mkdirSync(join(folder, 'lock'));
    writeFileSync(join(folder, 'lock', String(dead)), '');
    const release = await takeLock(folder, () => undefined);
    expect(readdirSync(join(folder, 'lock'))).toEqual([String(process.pid)]);
    release();
  });
});
