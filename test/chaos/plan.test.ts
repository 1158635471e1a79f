import { describe, expect, test } from 'vitest';
import { planSession } from './plan.ts';
import { Random } from './random.ts';

const plans = (seed: number) => {
  const random = new Random(seed);
  return Array.from({ length: 200 }, (_, index) => planSession(index, random.fork()));
};

describe('the load', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(plans(7)).toEqual(plans(7));
    expect(plans(7)).not.toEqual(plans(8));
  });

  test('has reads side by side, edits and commands, people who ask, cancel and answer', () => {
    const all = plans(1);
    const tools = new Set(
      all.flatMap(({ turns }) =>
        turns.flatMap(({ parts }) => parts.flatMap((part) => ('tool' in part ? [part.tool] : []))),
      ),
    );
    expect([...tools].sort()).toEqual(['bash', 'edit_file', 'read_file']);
    expect(all.some(({ messageAfter }) => messageAfter !== null)).toBe(true);
    expect(all.some(({ cancelAfter }) => cancelAfter !== null)).toBe(true);
    expect(new Set(all.flatMap(({ asks }) => asks)).size).toBe(5);
    expect(new Set(all.map(({ mode }) => mode))).toEqual(new Set(['normal', 'auto-edit']));
  });

  test('every effect has a mark of its own', () => {
    const marks = plans(2).flatMap(({ turns }) =>
      turns.flatMap(({ parts }) =>
        parts.flatMap((part) => ('tool' in part && part.tool !== 'read_file' ? [JSON.stringify(part)] : [])),
      ),
    );
    expect(new Set(marks).size).toBe(marks.length);
  });
});
