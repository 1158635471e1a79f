import type { ToolValidatedV1 } from '@interlock/contracts';
import { expect, test } from 'vitest';
import { command, edit } from '../test/samples.ts';
import { POLICY_DIGEST, proposed } from '../test/story.ts';
import { bindingOf, groundsOf } from './binding.ts';
import type { Outcome } from './decide.ts';
import { reconsider } from './reconsider.ts';

const shown = edit('src/a.ts');
const ASK: Outcome = { kind: 'ask', terms: { grants: true, approvers: [], expiresMs: null }, winner: null };
const RULE: Outcome = { kind: 'allow', by: { kind: 'rule', layer: 'user', rule: 'r' } };

function decided(now: ToolValidatedV1, outcome: Outcome = ASK, policyDigest = POLICY_DIGEST) {
  const story = proposed([shown]);
  const asked = story.ask(shown);
  const answer = story.answer(asked, {});
  return reconsider(asked.data, answer, now, { outcome, grounds: groundsOf(now, policyDigest, 99) });
}

test('denied now is denied, whatever was approved', () => {
  const deny: Outcome = { kind: 'deny', rule: 'r', reason: 'x' };
  expect(decided(shown, deny)).toEqual(deny);
});

test.each<[string, ToolValidatedV1, string, string]>([
  ['the file changed', edit('src/a.ts', 'b'.repeat(64)), POLICY_DIGEST, 'the files it rests on'],
  ['the policy changed', shown, 'e'.repeat(64), 'the policy'],
  ['the sandbox changed', { ...shown, sandboxLevel: 'D' }, POLICY_DIGEST, 'the sandbox'],
  ['normalisation changed', { ...shown, inputSha256: 'f'.repeat(64) }, POLICY_DIGEST, 'the input'],
  [
    'a link leads elsewhere now',
    {
      ...shown,
      assessment: {
        ...shown.assessment,
        paths: [{ path: 'a', real: '/etc/passwd', access: 'write', inside: false }],
      },
    },
    POLICY_DIGEST,
    'the paths it touches',
  ],
  [
    'it would do more now',
    { ...shown, assessment: { ...shown.assessment, effects: ['writes-workspace', 'unknown'] } },
    POLICY_DIGEST,
    'what it would do',
  ],
  ['another tool version', { ...shown, toolDigest: '9'.repeat(64) }, POLICY_DIGEST, 'the tool'],
])('asked afresh when %s', (_name, now, policyDigest, why) => {
  const conclusion = decided(now, ASK, policyDigest);
  expect(conclusion).toMatchObject({ kind: 'ask', voided: { answerId: expect.any(String) } });
  expect(conclusion.kind === 'ask' && conclusion.voided?.why).toContain(why);
});

test('what needs nobody now is allowed for that reason, changed or not', () => {
  expect(decided(edit('src/a.ts', 'b'.repeat(64)), RULE)).toEqual(RULE);
});

test('when others must approve now, the answer is void', () => {
  const terms = { grants: false, approvers: ['bob'], expiresMs: null };
  expect(decided(shown, { kind: 'ask', terms, winner: null })).toMatchObject({ kind: 'ask', terms });
});

test('nothing changed: allowed by the answer', () => {
  expect(decided(shown)).toMatchObject({ kind: 'allow', by: { kind: 'answer', person: 'ada' } });
});

test('less than was shown is still what was approved', () => {
  const line = command('x', ['network', 'deletes']);
  const story = proposed([line]);
  const asked = story.ask(line);
  const now = { ...line, assessment: { ...line.assessment, effects: ['network' as const] } };
  const grounds = groundsOf(now, POLICY_DIGEST, 1);
  expect(reconsider(asked.data, story.answer(asked, {}), now, { outcome: ASK, grounds }).kind).toBe('allow');
});

test('the order of baselines changes no binding; the registry sequence is not part of it', () => {
  const [one, two] = [
    { path: '/a', sha256: null },
    { path: '/b', sha256: 'a'.repeat(64) },
  ];
  const binding = (baselines: ToolValidatedV1['baselines'], seq: number) =>
    bindingOf(shown.toolDigest, groundsOf({ ...shown, baselines }, POLICY_DIGEST, seq));
  expect(binding([one, two], 1)).toBe(binding([two, one], 2));
  expect(binding([one], 1)).not.toBe(binding([two], 1));
});
