import { describe, expect, test } from 'vitest';
import { describeProblems, loadBundle } from './load.ts';

function problemsOf(text: string): string {
  const loaded = loadBundle(text);
  return loaded.ok ? '' : describeProblems(loaded.problems);
}

const rule = (more: string): string => `version: 1
rules:
  - id: one
    decision: allow
    reason: fine
    ${more}
`;

describe('a broken file is refused with line and sentence', () => {
  test.each([
    ['an unknown key', rule('wen: {}'), 'line 3: rules[0]: Unrecognized key: "wen"'],
    [
      'an unknown condition',
      rule('when: { tools: bash }'),
      'line 6: rules[0].when: Unrecognized key: "tools"',
    ],
    [
      'a wrong decision',
      'version: 1\nrules:\n  - id: a\n    decision: alow\n    reason: x\n',
      'line 4: rules[0].decision',
    ],
    ['another version', 'version: 2\nrules: []\n', 'line 1: version'],
    [
      'an id twice',
      `${rule('')}  - { id: one, decision: deny, reason: x }\n`,
      'line 7: rules[1].id: "one" is used twice',
    ],
    [
      'an allow by any effect',
      rule('when: { effects: { anyOf: network } }'),
      'line 6: rules[0].when.effects.anyOf',
    ],
    [
      'approvers of an allow',
      rule('approvers: [ada]'),
      'line 6: rules[0].approvers: belongs to a rule that asks',
    ],
    ['a floor of an allow', rule('floor: true'), 'line 6: rules[0].floor: belongs to a rule that denies'],
    ['a negated glob', rule("when: { paths: { globs: '!a' } }"), 'line 6: rules[0].when.paths.globs'],
    [
      'an exploding pattern',
      rule("when: { input: { field: a, regex: '(a+)+' } }"),
      'line 3: the rule "one" repeats',
    ],
    ['a broken pattern', rule("when: { input: { field: a, regex: '[' } }"), 'line 3: the rule "one"'],
    ['no yaml', 'rules: [', 'line 1:'],
    ['a duplicate key', 'version: 1\nversion: 1\n', 'line 2:'],
    ['nothing', '', 'the whole file'],
    ['no mapping', '- 1', 'the whole file'],
  ])('%s', (_name, text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  test.each([['(a|b)*'], ['(?:a*b)+'], ['(a)\\1'], ['a*b*c*d*e*'], ['((a|b)c)*']])(
    'the pattern %s could take for ever',
    (regex) => {
      expect(problemsOf(rule(`when: { input: { field: a, regex: '${regex}' } }`))).toMatch(
        /for ever|repetitions/,
      );
    },
  );

  test('aliases that would grow without end', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nversion: 1\nrules: [*c,*c,*c,*c]\n`;
    expect(problemsOf(bomb)).not.toBe('');
  });

  test('a file beyond all measure', () => {
    expect(problemsOf(`# ${'x'.repeat(600_000)}\n`)).toContain('larger than');
  });
});

test('a sound file becomes a bundle under the digest of its bytes', () => {
  const text = rule('when: { tool: bash }');
  const loaded = loadBundle(text);
  expect(loaded).toMatchObject({
    ok: true,
    bundle: { fallback: null, rules: [{ id: 'one', decision: 'allow' }] },
  });
  const other = loadBundle(`${text}\n`);
  expect(loaded.ok && other.ok && loaded.bundle.digest !== other.bundle.digest).toBe(true);
});

test('JSON is YAML', () => {
  expect(loadBundle('{"version":1,"default":"ask"}')).toMatchObject({
    ok: true,
    bundle: { fallback: 'ask', rules: [] },
  });
});

test('naming approvers rules out grants; an expiry has a unit', () => {
  const loaded = loadBundle(
    'version: 1\nrules:\n  - { id: a, decision: ask, reason: x, approvers: [bob], expires: 90s }\n',
  );
  expect(loaded).toMatchObject({
    ok: true,
    bundle: { rules: [{ grants: false, approvers: ['bob'], expiresMs: 90_000 }] },
  });
});
