import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds } from '../../test/holds.ts';
import { byteLength, clip, cut } from './bytes.ts';

test('cuts between characters of two, three and four bytes, never inside one', () => {
  for (const character of ['é', '字', '😀']) {
    const text = character.repeat(10);
    const size = byteLength(character);
    for (let limit = 0; limit <= size * 5; limit++) {
      const { head, tail, omittedBytes } = cut(text, { headBytes: limit, tailBytes: limit });
      const whole = Math.floor(limit / size);
      expect(head).toBe(omittedBytes === 0 ? text : character.repeat(whole));
      expect(head + tail).not.toContain('\ufffd');
    }
  }
});

test('what is shown and what is left out are the whole, byte for byte', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.constant('\ufeffx'),
  );
  holds(
    fc.property(anyText, fc.nat(40), fc.nat(40), (text, headBytes, tailBytes) => {
      const { head, tail, omittedBytes, ...sizes } = cut(text, { headBytes, tailBytes });
      const bytes = new TextEncoder().encode(text);
      expect(byteLength(head)).toBe(sizes.headBytes);
      expect(byteLength(tail)).toBe(sizes.tailBytes);
      expect(sizes.headBytes + omittedBytes + sizes.tailBytes).toBe(bytes.length);
      if (omittedBytes === 0) return;
      expect(sizes.headBytes).toBeLessThanOrEqual(headBytes);
      expect(sizes.tailBytes).toBeLessThanOrEqual(tailBytes);
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
      expect(decoder.decode(bytes.subarray(0, sizes.headBytes))).toBe(head);
      expect(decoder.decode(bytes.subarray(bytes.length - sizes.tailBytes))).toBe(tail);
    }),
  );
});

test('a clipped text keeps its limit and says how much is missing', () => {
  expect(clip('short', 100)).toBe('short');
  const clipped = clip('字'.repeat(100), 100);
  expect(clipped).toBe(`${'字'.repeat(20)} [240 more bytes left out]`);
  expect(byteLength(clipped)).toBeLessThanOrEqual(100);
});
