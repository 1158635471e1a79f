import { expect, test } from 'vitest';
import { codesOf, ERROR_CODES, ERRORS, type ErrorFamily } from './errors.ts';

const FAMILIES: readonly ErrorFamily[] = ['validation', 'decision', 'execution', 'model', 'wire', 'house'];

test.each(ERROR_CODES)('%s says what it means and what to do', (code) => {
  const { meaning, advice, family } = ERRORS[code];
  expect(code).toMatch(/^[a-z][a-z_]*$/);
  expect(FAMILIES).toContain(family);
  for (const sentence of [meaning, advice]) expect(sentence).toMatch(/^\S.*\.$/);
});

test('every code is of exactly one family', () => {
  const all = FAMILIES.flatMap((family) => codesOf(family));
  expect(all.toSorted()).toEqual(ERROR_CODES.toSorted());
});

test.each(FAMILIES)('no family is empty: %s', (family) => {
  expect(codesOf(family).length).toBeGreaterThan(0);
});
