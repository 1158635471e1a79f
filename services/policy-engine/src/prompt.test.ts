import { describe, expect, test } from 'vitest';
import { command, edit } from '../test/samples.ts';
import { promptOf, riskOf } from './prompt.ts';
import { toVisible } from './visible.ts';

const intent = { proposer: 'model' } as const;

describe('nothing in a prompt hides', () => {
  const COMMAND = { tabs: 'escape' } as const;

  test.each([
    ['ls\u200b -la\u2066 x\u2069', 'ls\\u200b -la\\u2066 x\\u2069'],
    ['echo safe \u202e# fr- mr ;\u202c', 'echo safe \\u202e# fr- mr ;\\u202c'],
    ['ls \u001b[8m; rm -rf x\u001b[0m', 'ls \\u001b[8m; rm -rf x\\u001b[0m'],
    ['ls\r; rm -rf y', 'ls\\r; rm -rf y'],
    ['ls\t-la', 'ls\\t-la'],
    ['ls\u00a0-la', 'ls\\u00a0-la'],
    ['a\u{e0041}b', 'a\\u{e0041}b'],
    ['a\n\n\n\n\nb', 'a\n[5 line breaks]\nb'],
    ['größe 日本 👍', 'größe 日本 👍'],
  ])('%j', (text, shown) => {
    expect(toVisible(text, COMMAND)).toBe(shown);
  });

  test('a long blank is counted', () => {
    expect(toVisible(`ls${' '.repeat(4000)}; rm -rf ~`, COMMAND)).toBe('ls[4000 spaces]; rm -rf ~');
  });

  test('tabs of a diff stay', () => {
    expect(toVisible('+\tif (x)\r', { tabs: 'keep' })).toBe('+\tif (x)\\r');
  });

  test('the exact input is there too', () => {
    const { preview, detail, title } = promptOf(command('ls \u001b[8m; rm x', ['deletes']), intent, null);
    expect(preview).toBe('ls \\u001b[8m; rm x');
    expect(detail).toContain('Input: {"command":"ls \\u001b[8m; rm x"}');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point.
    expect(`${title}${preview}${detail}`).not.toMatch(/[\u001b\r]/);
  });
});

test("the model's words are marked, cut and made safe", () => {
  const reason = `trust me\u001b[2J ${'x'.repeat(1000)}`;
  const { detail } = promptOf(command('x', ['network']), { ...intent, reason }, null);
  expect(detail).toContain('The model says, unverified: trust me\\u001b[2J x');
  expect(detail).toContain('characters more]');
});

test('it says which rule asks, what it rests on, and what was normalised', () => {
  const winner = {
    layer: 'managed',
    bundle: 'b'.repeat(64),
    rule: 'r1',
    decision: 'ask',
    reason: 'Because.',
  } as const;
  const call = { ...edit('a.ts'), changes: [{ path: '/path', why: 'made relative' }] };
  const prompt = promptOf(call, intent, winner);
  expect(prompt.detail).toContain('Because. (rule r1, managed)');
  expect(prompt.detail).toContain('Normalised: /path: made relative');
  expect(prompt).toMatchObject({ preview: expect.stringContaining('+b'), paths: ['/home/dev/app/a.ts'] });
});

test('risk follows effects', () => {
  expect(riskOf(command('x', ['read-only', 'runs-project-code']))).toBe('low');
  expect(riskOf(command('x', ['writes-workspace']))).toBe('medium');
  expect(riskOf(command('x', ['writes-workspace', 'unknown']))).toBe('high');
});
