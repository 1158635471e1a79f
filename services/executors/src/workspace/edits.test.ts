import { describe, expect, test } from 'vitest';
import { applyEdits } from './edits.ts';
import { nearestHint } from './nearest.ts';

const edit = (text: string, oldText: string, newText: string, all = false): string | string[] => {
  const outcome = applyEdits(text, [{ oldText, newText }], all);
  return outcome.ok ? outcome.text : outcome.problems.map(({ code }) => code);
};

describe('refused', () => {
  test('not there', () => expect(edit('a\nb\n', 'c', 'd')).toEqual(['text_not_found']));
  test('empty old text matches nothing', () => expect(edit('a', '', 'd')).toEqual(['text_not_found']));
  test('the same twice', () => expect(edit('a', 'a', 'a')).toEqual(['no_change']));

  test('more than once, with the lines', () => {
    const outcome = applyEdits('x\ny\nx\n', [{ oldText: 'x', newText: 'z' }], false);
    expect(outcome).toEqual({
      ok: false,
      problems: [{ code: 'text_not_unique', edit: 0, count: 2, lines: [1, 3] }],
    });
  });

  test('two places that differ only in their line ends are two places', () => {
    expect(edit('a\r\nb\na\nb\n', 'a\nb', 'c')).toEqual(['text_not_unique']);
  });

  test('overlapping edits, and all of them when one fails', () => {
    const overlap = applyEdits(
      'abcdef',
      [
        { oldText: 'abc', newText: '1' },
        { oldText: 'cde', newText: '2' },
      ],
      false,
    );
    expect(overlap).toMatchObject({ ok: false, problems: [{ code: 'overlap', edit: 1, other: 0 }] });
    const one = applyEdits(
      'abc',
      [
        { oldText: 'a', newText: '1' },
        { oldText: 'z', newText: '2' },
      ],
      false,
    );
    expect(one).toMatchObject({ ok: false, problems: [{ code: 'text_not_found', edit: 1 }] });
  });
});

describe('what is outside the match keeps its bytes', () => {
  test('CR LF file, LF edit over two lines', () => {
    expect(edit('alpha\r\nbeta\r\ngamma\r\n', 'alpha\nbeta', 'ALPHA\nBETA')).toBe(
      'ALPHA\r\nBETA\r\ngamma\r\n',
    );
  });

  test('CR LF file, replace all', () => {
    expect(edit('a\r\nb\r\na\r\nb\r\n', 'a\nb', 'c\nd', true)).toBe('c\r\nd\r\nc\r\nd\r\n');
  });

  test('mixed line ends: only what was asked for changes', () => {
    expect(edit('one\r\ntwo\nthree\r\nfour\n', 'three', 'THREE')).toBe('one\r\ntwo\nTHREE\r\nfour\n');
  });

  test('mixed line ends within the match go back to their places', () => {
    expect(edit('1\r\n2\n3\r\n4', '1\n2\n3\n4', 'a\nb\nc\nd')).toBe('a\r\nb\nc\r\nd');
  });

  test('lines added take the line end of their surroundings', () => {
    expect(edit('a\r\nb\r\n', 'a', 'a\nx\ny')).toBe('a\r\nx\r\ny\r\nb\r\n');
    expect(edit('a\nb\n', 'a', 'a\nx')).toBe('a\nx\nb\n');
    expect(edit('a\r\nb', 'b', 'b\nc')).toBe('a\r\nb\r\nc');
  });

  test('a match that begins at a line end', () => {
    expect(edit('x\r\nfoo\r\n', '\nfoo', '\nbar')).toBe('x\r\nbar\r\n');
  });

  test('an explicit CR LF in an LF file is meant', () => {
    expect(edit('a\nb\n', 'a', 'a\r\nx')).toBe('a\r\nx\nb\n');
  });

  test('a lone CR is a character like any other', () => {
    expect(edit('a\rb\n', 'b', 'c')).toBe('a\rc\n');
  });

  test('a file can be emptied', () => expect(edit('only\n', 'only\n', '')).toBe(''));

  test('new text is literal', () => {
    expect(edit('cost: X', 'X', '$& $1 $$ $` \\n')).toBe('cost: $& $1 $$ $` \\n');
  });
});

test('several edits rest on the text before the call, in any order', () => {
  const edits = [
    { oldText: 'three', newText: 'one' },
    { oldText: 'one', newText: 'three' },
  ];
  expect(applyEdits('one two three', edits, false)).toMatchObject({ ok: true, text: 'three two one' });
});

describe('the nearest place', () => {
  const text = 'function add(a, b) {\n\treturn a + b;\n}\ncafe\u0301\n';
  test('other white space', () =>
    expect(nearestHint(text, 'return  a + b;')).toContain('line 2 differs only in white space'));
  test('other Unicode form', () =>
    expect(nearestHint(text, 'caf\u00e9')).toContain('line 4 differs only in its Unicode form'));
  test('the same first line', () =>
    expect(nearestHint(text, 'function add(a, b) {\nnope')).toContain('line 1 equals its first line'));
  test('a likely one', () =>
    expect(nearestHint(text, 'function add(a, c) {')).toContain('the nearest is line 1'));
  test('nothing near', () => expect(nearestHint(text, 'zzzzqqqq')).toBeNull());
});
