import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Accumulators of the SDK: they repair cut arguments, buffer without bound, and refuse what is valid. */
const HELPERS = /\.messages\s*\.(stream|parse|toolRunner)\b|MessageStream|finalMessage|accumulat\w+\(/;

test('no accumulating helper of the SDK is used', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(20);
  const using = files.filter((file) => HELPERS.test(readFileSync(`${import.meta.dirname}/${file}`, 'utf8')));
  expect(using).toEqual([]);
  expect('client.messages.stream(body)').toMatch(HELPERS);
});
