import type { LiveChunkV1 } from '@interlock/contracts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLiveText } from './live.ts';
import type { Delta } from './provider.ts';

const delta = (text: string, part = 0, kind: Delta['kind'] = 'text'): Delta => ({
  type: 'delta',
  part,
  kind,
  text,
});

let sent: LiveChunkV1[];
const texts = (): string[] => sent.map(({ text }) => text);
const live = () => createLiveText({ attempt: 2, send: (chunk) => sent.push(chunk) });

beforeEach(() => {
  sent = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test('the first delta of a part goes at once, the next ones together', () => {
  const text = live();
  text.push(delta('a'));
  text.push(delta('b'));
  text.push(delta('c'));
  expect(texts()).toEqual(['a']);
  vi.advanceTimersByTime(100);
  expect(texts()).toEqual(['a', 'bc']);
});

test('2 KiB go before their time', () => {
  const text = live();
  text.push(delta('a'));
  text.push(delta('b'.repeat(2000)));
  expect(texts()).toHaveLength(1);
  text.push(delta('c'.repeat(100)));
  expect(sent[1]?.text).toHaveLength(2100);
});

test('a change of part or kind sends what is held first, and chunks count up', () => {
  const text = live();
  text.push(delta('think', 0, 'reasoning'));
  text.push(delta('ing', 0, 'reasoning'));
  text.push(delta('say', 1));
  expect(sent).toEqual([
    { kind: 'reasoning', attempt: 2, index: 0, text: 'think' },
    { kind: 'reasoning', attempt: 2, index: 1, text: 'ing' },
    { kind: 'text', attempt: 2, index: 2, text: 'say' },
  ]);
});

test('close sends what is held, and nothing comes after it', () => {
  const text = live();
  text.push(delta('a'));
  text.push(delta('b'));
  text.close();
  text.push(delta('c'));
  vi.advanceTimersByTime(1000);
  expect(texts()).toEqual(['a', 'b']);
});

test('joined chunks are the text, also where it is cut for size', () => {
  const whole = 'x'.repeat(65_535) + '👋'.repeat(40_000);
  const text = live();
  text.push(delta(whole));
  text.close();
  expect(texts().length).toBeGreaterThan(1);
  expect(texts().every((chunk) => chunk.isWellFormed() && chunk.length <= 65_536)).toBe(true);
  expect(texts().join('')).toBe(whole);
});
