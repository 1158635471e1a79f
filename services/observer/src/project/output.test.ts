import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds } from '../../test/holds.ts';
import { byteLength } from './bytes.ts';
import { boundOutput, share } from './output.ts';

const outputs = fc.array(
  fc.record({
    channel: fc.oneof(fc.constantFrom('stdout', 'stderr', 'content'), fc.string({ unit: 'binary' })),
    text: fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc
        .tuple(fc.constantFrom('a', 'é', '😀', 'line\n'), fc.nat(6000))
        .map(([unit, times]) => unit.repeat(times)),
    ),
    omittedBytes: fc.oneof(fc.constant(0), fc.nat()),
  }),
  { maxLength: 12 },
);

test('every byte is shown or counted, and the budget holds', () => {
  holds(
    fc.property(outputs, fc.integer({ min: 4500, max: 20_000 }), (given, budgetBytes) => {
      const bounded = boundOutput(given, budgetBytes);
      const all = given.reduce((sum, { text, omittedBytes }) => sum + byteLength(text) + omittedBytes, 0);
      const shown = bounded.shown.filter(({ label }) => label === 'untrusted');
      const shownBytes = shown.reduce((sum, { text }) => sum + byteLength(text), 0);
      expect(shownBytes + bounded.omittedBytes).toBe(all);
      const parts = [...bounded.truncation, ...bounded.shown];
      const bytes = parts.reduce((sum, { text }) => sum + byteLength(text), 0);
      expect(bytes).toBeLessThanOrEqual(budgetBytes);
      expect(bounded.truncation.every(({ label }) => label === 'fact')).toBe(true);
    }),
  );
});

test('what fits is left as it is', () => {
  const bounded = boundOutput([{ channel: 'content', text: 'whole', omittedBytes: 0 }], 5000);
  expect(bounded).toEqual({
    truncation: [],
    shown: [{ label: 'untrusted', text: 'whole' }],
    suggestions: [],
    omittedBytes: 0,
    artifacts: [],
    toStore: [],
  });
});

test('shares: small ones whole, the rest evenly', () => {
  expect(share([10, 1000, 1000], 500)).toEqual([10, 245, 245]);
  expect(share([], 10)).toEqual([]);
  expect(share([5, 5], 100)).toEqual([5, 5]);
});
