import { sha256Hex } from '@interlock/kit/pure';
import { describe, expect, test } from 'vitest';
import { decodeText, encodeText, isCrlf, splitLines } from './text.ts';
import { undoEdits } from './undo-edits.ts';

const utf16be = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]);
const utf16le = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);

describe('bytes come back as they were', () => {
  test.each([
    ['UTF-8', Buffer.from('a≤b😀\r\n'), 'utf8', false],
    ['UTF-8 with a mark', Buffer.from('\ufeffhello\n'), 'utf8', true],
    ['UTF-16 LE', utf16le('key=value\r\n'), 'utf16le', true],
    ['UTF-16 BE', utf16be('key=value\n'), 'utf16be', true],
    ['an eight-bit encoding', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]), 'latin1', false],
    ['nothing', Buffer.alloc(0), 'utf8', false],
  ] as const)('%s', (_name, bytes, encoding, bom) => {
    const file = decodeText(bytes);
    expect(file).toMatchObject({ kind: 'text', encoding, bom });
    if (file.kind !== 'text') return;
    expect(file.text.startsWith('\ufeff')).toBe(false);
    expect(encodeText(file.text, file)).toEqual(bytes);
  });
});

describe('what is not text is said to be binary', () => {
  test.each([
    ['a NUL', Buffer.from('a\0b')],
    ['UTF-16 without a mark', Buffer.from('abc', 'utf16le')],
    ['half a UTF-16 unit', Buffer.concat([utf16le('ab'), Buffer.from([0x61])])],
    ['compressed data', Buffer.from(Array.from({ length: 400 }, (_, index) => ((index * 7919) % 255) + 1))],
  ])('%s', (_name, bytes) => {
    expect(decodeText(bytes).kind).toBe('binary');
  });
});

test('a character that the encoding has not is refused', () => {
  expect(encodeText('€', { encoding: 'latin1', bom: false })).toBeNull();
  expect(encodeText('\ud800', { encoding: 'utf8', bom: false })).toBeNull();
});

test('line ends', () => {
  expect(isCrlf('a\r\nb\r\n')).toBe(true);
  expect(isCrlf('a\r\nb\n')).toBe(false);
  expect(isCrlf('\n')).toBe(false);
  expect(isCrlf('a')).toBe(false);
  expect(splitLines('a\r\nb\n')).toEqual(['a', 'b']);
  expect(splitLines('a\n\n')).toEqual(['a', '']);
  expect(splitLines('')).toEqual([]);
});

describe('undoing edits', () => {
  const before = Buffer.from('one\r\ntwo\r\none\r\n');
  const hash = sha256Hex(before);
  test('an edit that was made is recognised', () => {
    const after = Buffer.from('one\r\nTWO\r\none\r\n');
    expect(undoEdits(after, [{ oldText: 'two', newText: 'TWO' }], hash)?.bytes).toEqual(before);
  });

  test('also where the new text stands elsewhere too', () => {
    const after = Buffer.from('one\r\none\r\none\r\n');
    expect(undoEdits(after, [{ oldText: 'two', newText: 'one' }], hash)?.text).toBe('one\r\ntwo\r\none\r\n');
  });

  test('and where all places were replaced', () => {
    const after = Buffer.from('1\r\ntwo\r\n1\r\n');
    expect(undoEdits(after, [{ oldText: 'one', newText: '1' }], hash)?.bytes).toEqual(before);
  });

  test('a file that somebody changed besides is not', () => {
    const after = Buffer.from('one\r\nTWO\r\none\r\nmore\r\n');
    expect(undoEdits(after, [{ oldText: 'two', newText: 'TWO' }], hash)).toBeNull();
  });

  test('a deletion cannot be told from the file', () => {
    expect(undoEdits(Buffer.from('one\r\n\r\none\r\n'), [{ oldText: 'two', newText: '' }], hash)).toBeNull();
  });
});
