import type { IntentOutput } from '@interlock/runtime';
import { describe, expect, test } from 'vitest';
import { harmless, harmlessLine } from './harmless.ts';
import { IntentLines, shortTextOf, textOf } from './intent-lines.ts';

const at = (stage: IntentOutput['stage'], detail = '', input?: unknown): IntentOutput => ({
  type: 'tool.intent',
  intent: 'i1',
  tool: 'bash',
  stage,
  detail,
  ...(input === undefined ? {} : { input }),
});

describe('the line of an intent', () => {
  test('grows through its stages and is done when it is observed', () => {
    const lines = new IntentLines();
    lines.apply(at('proposed', '', { command: 'npm\ntest' }));
    lines.apply(at('validated'));
    lines.apply(at('allowed', 'default/project-code'));
    lines.apply(at('started', 'sandbox A'));
    expect(lines.open()).toHaveLength(1);
    lines.apply(at('completed', 'success, exit 0, 12 ms'));
    const line = lines.apply({
      type: 'tool.observation',
      intent: 'i1',
      tool: 'bash',
      ending: 'success',
      isError: false,
      parts: [],
    });
    expect(textOf(line)).toBe(
      'bash npm test → proposed → validated → allowed by default/project-code → running → success, exit 0, 12 ms → observed (success)',
    );
    expect(lines.open()).toEqual([]);
  });

  test('says why it went no further', () => {
    const lines = new IntentLines();
    expect(textOf(lines.apply(at('denied', 'no-rm: it deletes')))).toBe('bash → denied: no-rm: it deletes');
  });
});

test('a line that is too long leaves out its oldest stages', () => {
  const line = { intent: 'i', head: 'bash', stages: ['proposed', 'validated', 'running'], done: false };
  const within = (limit: number) => (text: string) => text.length <= limit;
  expect(shortTextOf(line, within(80))).toBe('bash → proposed → validated → running');
  expect(shortTextOf(line, within(32))).toBe('bash → … → validated → running');
  expect(shortTextOf(line, within(3))).toBe('bash → … → running');
});

describe('text from elsewhere', () => {
  test('moves no cursor, rings no bell, hides nothing', () => {
    expect(harmless('a\u001b[2Jb\u0007c\rd\u009b31me')).toBe('abcde');
  });

  test('fits into its columns, wide characters too, and keeps its indent', () => {
    expect(harmlessLine('  abc', 5)).toBe('  abc');
    expect(harmlessLine('abcdef', 5)).toBe('abcd…');
    expect(harmlessLine('日本語', 5)).toBe('日…');
    expect(harmlessLine('a\nb', 5)).toBe('a b');
  });
});
