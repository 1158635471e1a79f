import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical.ts';
import { TerminalError } from './errors.ts';
import { sha256Hex } from './hashing.ts';
import type { JsonObject } from './json-object.ts';
import { MESSAGE_LIMIT } from './limits.ts';
import { isSpilled, restore, spill } from './spill.ts';

async function around(data: JsonObject, room = MESSAGE_LIMIT): Promise<unknown> {
  const { text, blobs } = spill(data, room);
  const stored = JSON.parse(text) as JsonObject;
  if (!isSpilled(stored)) return stored;
  const bytes = new Map(blobs.map((blob) => [`artifact://${blob.sha256}`, blob.bytes]));
  const restored = await restore(stored, async (uri) => bytes.get(uri) ?? null);
  return restored.ok ? restored.data : restored;
}

describe('spill', () => {
  test('leaves a message alone that has nothing large', () => {
    const data = { a: 'x'.repeat(65_536 - 10), b: [1, { c: null }] };
    expect(spill(data, MESSAGE_LIMIT)).toEqual({ text: canonicalJson(data), blobs: [] });
  });

  test.each([
    ['x', 65_536, 0],
    ['x', 65_537, 1],
    ['ä', 32_768, 0],
    ['ä', 32_769, 1],
    ['\u{1f600}', 16_384, 0],
    ['\u{1f600}', 16_385, 1],
  ])('counts UTF-8 bytes: %s times %i', async (char, count, blobs) => {
    const data = { text: char.repeat(count) };
    expect(spill(data, MESSAGE_LIMIT).blobs).toHaveLength(blobs);
    expect(await around(data)).toEqual(data);
  });

  test('finds large strings wherever they stand', async () => {
    const big = 'b'.repeat(70_000);
    const data = { list: [{ 'a/b~c': big }, [big, 'small']], '': big, other: 1 };
    const { text, blobs } = spill(data, MESSAGE_LIMIT);
    expect(new Set(blobs.map(({ sha256 }) => sha256))).toEqual(new Set([sha256Hex(big)]));
    expect(new Set(JSON.parse(text).$spilled)).toEqual(new Set(['/', '/list/0/a~1b~0c', '/list/1/0']));
    expect(await around(data)).toEqual(data);
  });

  test('takes the largest fields whole until the message fits', async () => {
    const many = Array.from({ length: 20 }, () => 'm'.repeat(60_000));
    const data = { many, few: many.slice(0, 3), small: 's' };
    const { text } = spill(data, MESSAGE_LIMIT);
    expect(text.length).toBeLessThan(MESSAGE_LIMIT);
    expect(JSON.parse(text)).toMatchObject({ $spilled: ['/many'], few: data.few, small: 's' });
    expect(await around(data)).toEqual(data);
    expect(JSON.parse(spill(data, 1000).text).$spilled).toEqual(['/few', '/many']);
    expect(await around(data, 1000)).toEqual(data);
  });

  test('refuses more than can be restored', () => {
    expect(() => spill({ a: 'a'.repeat(40_000_000), b: 'b'.repeat(40_000_000) }, MESSAGE_LIMIT)).toThrow(
      TerminalError,
    );
  });

  test('keeps lone surrogates as canonical text has them', async () => {
    const data = { text: `\ud800${'x'.repeat(70_000)}` };
    expect(await around(data)).toEqual({ text: `\ufffd${'x'.repeat(70_000)}` });
  });
});

describe('restore', () => {
  const none = async (): Promise<null> => null;

  test('takes nothing for a reference that the list does not name', async () => {
    const reference = { $artifact: `artifact://${'0'.repeat(64)}`, sizeBytes: 1, encoding: 'text' };
    expect(await restore({ a: reference, $spilled: [] }, none)).toEqual({ ok: true, data: { a: reference } });
    expect(isSpilled({ a: { $spilled: ['/a'] } })).toBe(false);
  });

  test('does not fetch more than a reader may hold', async () => {
    const reference = { $artifact: `artifact://${'0'.repeat(64)}`, sizeBytes: 1e9, encoding: 'text' };
    const fetched: string[] = [];
    const result = await restore({ a: reference, $spilled: ['/a'] }, async (uri) => {
      fetched.push(uri);
      return null;
    });
    expect(result).toMatchObject({ ok: false, code: 'unreadable_event' });
    expect(fetched).toEqual([]);
  });

  test('refuses bytes that are not what the reference says', async () => {
    const reference = { $artifact: `artifact://${'0'.repeat(64)}`, sizeBytes: 4, encoding: 'json' };
    const data = { a: reference, $spilled: ['/a'] };
    expect(await restore(data, async () => Buffer.from('12345'))).toMatchObject({
      code: 'artifact_unavailable',
    });
    expect(await restore(data, async () => Buffer.from('{{{{'))).toMatchObject({ code: 'unreadable_event' });
    expect(await restore(data, async () => Buffer.from('1234'))).toEqual({ ok: true, data: { a: 1234 } });
  });
});
