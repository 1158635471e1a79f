import { describe, expect, test } from 'vitest';
import { canonicalJson, isCanonical, strictCanonicalJson } from './canonical.ts';
import { contextSnapshotId, hashOf, sha256Hex } from './hashing.ts';

describe('canonicalJson, by the vectors of RFC 8785', () => {
  test('section 3.2.2', () => {
    const input = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(input)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test('section 3.2.3: keys by UTF-16 code unit', () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      1: 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(Object.values(JSON.parse(canonicalJson(input)))).toHaveLength(7);
    expect(
      canonicalJson(input)
        .match(/"([^"]*)":/g)
        ?.map((key) => JSON.parse(key.slice(0, -1))),
    ).toEqual(['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']);
  });

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: %s', (ieee, text) => {
    expect(canonicalJson(Buffer.from(ieee, 'hex').readDoubleBE())).toBe(text);
  });
});

describe('canonicalJson', () => {
  test('refuses what JSON has no form for', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, undefined, cycle, [Number.NaN]]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
      expect(isCanonical(value)).toBe(false);
    }
  });

  test('writes a lone surrogate as UTF-8 would', () => {
    const value = { 'k\ud800': ['\udc00x', String.raw`\ud800`, '\ud83d\ude00'] };
    expect(canonicalJson(value)).toBe(
      JSON.stringify({ 'k\ufffd': ['\ufffdx', String.raw`\ud800`, '\ud83d\ude00'] }),
    );
    expect(isCanonical(value)).toBe(false);
    expect(() => strictCanonicalJson(value)).toThrow();
  });

  test('leaves out undefined members and keeps own members of odd names', () => {
    expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}');
    expect(canonicalJson(JSON.parse('{"__proto__":{"x":1},"a":[]}'))).toBe('{"__proto__":{"x":1},"a":[]}');
  });

  test('is the same again after parsing, for any order of members', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const make = (depth: number): unknown => {
      const kind = random(depth > 4 ? 4 : 6);
      if (kind === 0) return random(2) === 0;
      if (kind === 1) return (random(2_000_000) - 1_000_000) / (1 + random(1000));
      if (kind === 2) return String.fromCodePoint(random(0xd7ff), 0x10000 + random(0xffff));
      if (kind === 3) return null;
      const members = Array.from({ length: random(5) }, () => make(depth + 1));
      return kind === 4
        ? members
        : Object.fromEntries(members.map((member, n) => [`${random(99)}ü${n}`, member]));
    };
    for (let round = 0; round < 300; round++) {
      const text = canonicalJson(make(0));
      const parsed: unknown = JSON.parse(text, (_key, value: unknown) =>
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).reverse())
          : value,
      );
      expect(canonicalJson(parsed)).toBe(text);
    }
  });
});

describe('hashes', () => {
  test('are lower-case SHA-256', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(sha256Hex(Buffer.from('abc'))).toBe(sha256Hex('abc'));
    expect(hashOf({ b: 1, a: 2 })).toBe(sha256Hex('{"a":2,"b":1}'));
  });

  test('of a context are over the hashes of its parts, in order', () => {
    const parts = [{ a: 1 }, 'two', [3]];
    expect(contextSnapshotId(parts)).toBe(sha256Hex(parts.map(hashOf).join('\n')));
    expect(contextSnapshotId([...parts].reverse())).not.toBe(contextSnapshotId(parts));
    expect(contextSnapshotId([])).toBe(sha256Hex(''));
  });
});
