/** One list of codes: what is in it is used and documented, and what is used is in it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');

const SOURCES = globSync(['{contracts,kit,deploy}/src/**/*.ts', '{services,clients}/*/src/**/*.ts'], {
  cwd: ROOT,
})
  .filter((path) => !path.endsWith('.test.ts') && path !== 'contracts/src/errors.ts')
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const PAGE = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');

test('the page lists every code and no other', () => {
  const listed = [...PAGE.matchAll(/^\| `([a-z_]+)` +\|/gm)].map((match) => match[1]);
  expect(listed.toSorted()).toEqual(ERROR_CODES.toSorted());
});

describe('every code is used', () => {
  test.each(ERROR_CODES)('%s', (code) => {
    const users = SOURCES.filter(({ text }) => text.includes(`'${code}'`)).map(({ path }) => path);
    expect(users).not.toEqual([]);
  });
});

/** Words that stand behind `code:` and are no codes of ours. */
const OTHERS: readonly string[] = [
  // An issue of zod's, made by a schema's own check.
  'custom',
  // A problem inside the edits of a file; it leaves there as `schema_mismatch`.
  'overlap',
];

test('no source writes a code that is not in the list', () => {
  const codes: readonly string[] = [...ERROR_CODES, ...OTHERS];
  const unknown = SOURCES.flatMap(({ path, text }) =>
    [...text.matchAll(/\bcode: '([a-z][a-z_]*)'/g)]
      .map((match) => match[1] ?? '')
      .filter((code) => !codes.includes(code))
      .map((code) => `${path}: ${code}`),
  );
  expect(unknown).toEqual([]);
});
