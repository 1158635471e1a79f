import type { Usage } from '@interlock/contracts';
import { expect, test } from 'vitest';
import { costUsd } from './prices.ts';

const usage = (more: Partial<Usage> = {}): Usage => ({
  inputUncached: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: null,
  ...more,
});
const million = usage({ inputUncached: 1e6, cacheRead: 1e6, cacheWrite: 1e6, output: 1e6 });

test('an unknown model or usage has no cost, not a cost of 0', () => {
  expect(costUsd('claude-fable-5-2', million, '5m')).toBeNull();
  expect(costUsd('script-1', million, '5m')).toBeNull();
  expect(costUsd('claude-opus-5', null, '5m')).toBeNull();
});

test.each([
  ['claude-opus-4-8', 5 + 0.5 + 6.25 + 25],
  ['claude-opus-4-1-20250805', 15 + 1.5 + 18.75 + 75],
  ['claude-opus-5', 5 + 0.5 + 6.25 + 25],
  ['claude-opus-5-5', 4 + 0.2 + 5 + 20],
  ['claude-sonnet-4-5-20250929', 3 + 0.3 + 3.75 + 15],
  ['claude-sonnet-5-5', 2 + 0.1 + 2.5 + 10],
  ['claude-fable-5-1', 10 + 0.25 + 12.5 + 50],
  ['claude-haiku-4-5', 1 + 0.1 + 1.25 + 5],
])('a million of each class with %s', (model, expected) => {
  expect(costUsd(model, million, '5m')).toBeCloseTo(expected, 9);
});

test('an hour in the cache costs twice the input', () => {
  expect(costUsd('claude-sonnet-4-6', usage({ cacheWrite: 1e6 }), '1h')).toBe(6);
});

test('a long prompt raises the price of the whole request', () => {
  expect(costUsd('claude-haiku-5-5', usage({ inputUncached: 100_000, output: 1000 }), '5m')).toBeCloseTo(
    0.0105,
    9,
  );
  expect(costUsd('claude-haiku-5-5', usage({ cacheRead: 100_001, output: 1000 }), '5m')).toBeCloseTo(
    0.00750005,
    9,
  );
});
