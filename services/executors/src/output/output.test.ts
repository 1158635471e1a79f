import { StringDecoder } from 'node:string_decoder';
import { describe, expect, test } from 'vitest';
import { ChannelCapture, shares } from './capture.ts';
import { outputPart } from './output-part.ts';
import { StreamSanitizer, sanitize } from './sanitize.ts';

const harmless = /^[^\p{Cc}]*$/u;

describe('harmless text', () => {
  test('escape sequences go, text stays', () => {
    const raw =
      'ok \u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\ \u001b(B\u001bcend';
    expect(sanitize(raw)).toBe('ok red link end');
  });

  test('control characters become their pictures, a carriage return a line end', () => {
    expect(sanitize('a\0b\u0007c\u007fd\u009be')).toBe('a␀b␇c␡d\ufffde');
    expect(sanitize('10%\r20%\r\ndone\tx\n')).toBe('10%\n20%\ndone\tx\n');
  });

  test('what turns text around or hides is shown as unknown', () => {
    expect(sanitize('a\u202eb\u2066c\ufeffd')).toBe('a\ufffdb\ufffdc\ufffdd');
  });

  test('an open sequence leaves no escape behind', () => {
    expect(sanitize('x\u001b[3').replaceAll('\n', '')).toMatch(harmless);
  });
});

test('a stream split at any byte gives the same text', () => {
  const bytes = Buffer.from('a≤b😀\u001b[1;31mred\u001b[0m\r\nnext\rline\u001b]0;t\u0007!\n');
  const whole = sanitize(bytes.toString('utf8'));
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    for (const second of [cut, Math.min(bytes.length, cut + 1), Math.min(bytes.length, cut + 3)]) {
      const decoder = new StringDecoder('utf8');
      const sanitizer = new StreamSanitizer();
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut, second), bytes.subarray(second)];
      const text =
        parts.map((part) => sanitizer.push(decoder.write(part))).join('') +
        sanitizer.push(decoder.end()) +
        sanitizer.end();
      expect(text).toBe(whole);
    }
  }
});

describe('capture', () => {
  const capture = (limit: number, ...chunks: (string | Uint8Array)[]): ChannelCapture => {
    const made = new ChannelCapture(limit, null);
    for (const chunk of chunks) made.push(Buffer.from(chunk));
    return made;
  };

  test('what fits is whole', () => {
    const made = capture(10, 'hello', 'world');
    expect(Buffer.from(made.whole ?? []).toString()).toBe('helloworld');
    expect(made.cut(10)).toMatchObject({ omittedBytes: 0 });
  });

  test('head, omitted and tail are every byte', () => {
    for (const size of [11, 50, 999, 5000]) {
      const text = Array.from({ length: size }, (_, index) => String.fromCharCode(97 + (index % 26))).join(
        '',
      );
      for (const step of [1, 7, 64, 10_000]) {
        const made = new ChannelCapture(10, null);
        for (let at = 0; at < size; at += step) made.push(Buffer.from(text.slice(at, at + step)));
        const { head, tail, omittedBytes } = made.cut(10);
        expect(head.length + tail.length + omittedBytes).toBe(size);
        expect(text.startsWith(Buffer.from(head).toString())).toBe(true);
        expect(text.endsWith(Buffer.from(tail).toString())).toBe(true);
        expect(head.length + tail.length).toBe(10);
      }
    }
  });

  test('a cut is never within a character', () => {
    const text = '😀'.repeat(20);
    for (let budget = 1; budget < 60; budget += 1) {
      const made = capture(60, text);
      const { head, tail, omittedBytes } = made.cut(budget);
      const shown = Buffer.from(head).toString() + Buffer.from(tail).toString();
      expect(shown).not.toContain('\ufffd');
      expect(Buffer.byteLength(shown) + omittedBytes).toBe(80);
    }
  });

  test('bytes that are no text are counted all the same', () => {
    const { head, tail, omittedBytes } = capture(10, new Uint8Array(100).fill(0x80)).cut(10);
    expect(head.length + tail.length + omittedBytes).toBe(100);
  });

  test('memory is bounded', () => {
    const made = new ChannelCapture(1000, null);
    const chunk = Buffer.alloc(65_536, 'x');
    for (let index = 0; index < 1000; index += 1) made.push(chunk);
    expect(made.totalBytes).toBe(65_536_000);
    expect(made.cut(1000).omittedBytes).toBe(65_536_000 - 1000);
  });
});

test('the part says how much is missing and where it is', () => {
  const made = new ChannelCapture(10, null);
  made.push(Buffer.from('x'.repeat(30)));
  const part = outputPart('stdout', made, 10, () => `artifact://${'a'.repeat(64)}`);
  expect(part.omittedBytes).toBe(20);
  expect(part.artifact).toBe(`artifact://${'a'.repeat(64)}`);
  expect(part.text).toContain('20 bytes of stdout left out; all of it: artifact://');
});

test('a budget is shared so that the smaller channel is whole', () => {
  expect(shares(100, 30, 40)).toEqual([30, 40]);
  expect(shares(100, 10, 5000)).toEqual([10, 90]);
  expect(shares(100, 5000, 10)).toEqual([90, 10]);
  expect(shares(100, 5000, 5000)).toEqual([50, 50]);
});
