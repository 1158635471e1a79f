import type { ToolAnswerV1 } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { command, edit } from '../test/samples.ts';
import { EXPIRES_AT, proposed, type Story } from '../test/story.ts';
import { editBehind, firstStanding, judgeAnswer, openLane } from './answer.ts';

const IN_TIME = new Date('2026-11-30T13:00:00.000Z');
const call = command('npm publish', ['network']);

function told(story: Story, answer: ReturnType<Story['answer']>, at = IN_TIME): string {
  const step = judgeAnswer(story.state(), answer, at);
  return step.kind === 'ignore' ? step.why : step.kind;
}

describe('an answer that does not count', () => {
  test.each<[string, Partial<ToolAnswerV1>, string]>([
    ['to another ask', { askedId: '01J00000000000000000000099' }, 'it answers another ask'],
    ['to other grounds', { bindingSha256: '0'.repeat(64) }, 'it answers another ask'],
    ['to a call that is not there', { intent: 'i9' }, 'there is no such ask'],
    [
      'an edit without a new intent',
      { verdict: 'edit', input: {} },
      'an edit needs a new intent and its input',
    ],
    [
      'an edit without input',
      { verdict: 'edit', newIntent: 'i9' },
      'an edit needs a new intent and its input',
    ],
    [
      'an edit into a call that exists',
      { verdict: 'edit', newIntent: 'i1', input: {} },
      'the new intent of the edit exists already',
    ],
  ])('%s', (_name, answer, why) => {
    const story = proposed([call]);
    expect(told(story, story.answer(story.ask(call), answer))).toBe(why);
  });

  test('with a forged signature', () => {
    const story = proposed([call]);
    const answer = story.answer(story.ask(call), {}, { authenticity: 'forged' });
    expect(told(story, answer)).toBe('it is not signed by the person it names');
    const lane = openLane(story.state(), 'i1');
    expect(lane && firstStanding(story.state(), lane)).toBeNull();
  });

  test('of somebody whom the rule does not name', () => {
    const story = proposed([call]);
    const asked = story.ask(call, { approvers: ['bob'] });
    expect(told(story, story.answer(asked, { person: 'ada' }))).toBe('ada may not answer this ask');
  });

  test('of the person who proposed the call by editing', () => {
    const story = edited();
    const asked = story.ask(call, { approvers: ['ada', 'bob'] }, { intent: 'i2' });
    expect(told(story, story.answer(asked, { person: 'ada' }))).toBe('ada may not answer this ask');
    expect(told(story, story.answer(asked, { person: 'bob' }))).toBe('approve');
  });

  test('the second of two', () => {
    const story = proposed([call]);
    const asked = story.ask(call);
    const first = story.answer(asked, { verdict: 'reject', person: 'bob' });
    const second = story.answer(asked, { person: 'ada' });
    expect(told(story, second)).toBe('somebody answered before');
    expect(told(story, first)).toBe('reject');
  });

  test('to an ask that was made anew', () => {
    const story = proposed([call]);
    const old = story.ask(call);
    const late = story.answer(old, {});
    const anew = story.ask(call, { bindingSha256: '1'.repeat(64) });
    expect(told(story, late)).toBe('it answers another ask');
    expect(told(story, story.answer(anew, {}))).toBe('approve');
  });

  test('to a call whose run is being cancelled: the observer ends it', () => {
    const story = proposed([call]);
    const answer = story.answer(story.ask(call), {});
    story.append('run.cancel', { reason: 'person', by: 'ada' });
    expect(told(story, answer)).toBe('done');
  });

  test('to a call that was decided meanwhile', () => {
    const story = proposed([call]);
    const answer = story.answer(story.ask(call), {});
    story.append(
      'tool.approval.denied',
      { kind: 'expired', rule: null, reason: 'x', verdicts: [] },
      { intent: 'i1' },
    );
    expect(told(story, answer)).toBe('done');
  });

  test('said twice: the log holds it twice, it counts once', () => {
    const story = proposed([call]);
    const asked = story.ask(call);
    const first = story.answer(asked, {});
    story.entries.push({ ...first, seq: first.seq + 1 });
    expect(story.state().lanes.i1?.answers).toHaveLength(1);
  });
});

describe('an answer that counts', () => {
  test('one of somebody who may not answer blocks nobody', () => {
    const story = proposed([call]);
    const asked = story.ask(call, { approvers: ['bob'] });
    story.answer(asked, { person: 'mallory', verdict: 'reject' });
    story.answer(asked, { person: 'bob', verdict: 'edit' });
    expect(told(story, story.answer(asked, { person: 'bob' }))).toBe('approve');
  });

  test.each([
    ['just before the expiry', -1, 'approve'],
    ['at the expiry', 0, 'expired'],
    ['after it', 1, 'expired'],
  ] as const)('stored %s', (_name, offset, kind) => {
    const story = proposed([call]);
    const answer = story.answer(story.ask(call), {});
    expect(told(story, answer, new Date(Date.parse(EXPIRES_AT) + offset))).toBe(kind);
  });

  test('handled again, it finds the ask that it led to', () => {
    const story = proposed([call]);
    const answer = story.answer(story.ask(call), {});
    story.ask(call, { bindingSha256: '1'.repeat(64) }, { intent: 'i1', causationid: answer.envelope.id });
    expect(told(story, answer)).toBe('remind');
  });

  test('to a session that was closed meanwhile: its open calls still end', () => {
    const story = proposed([call]);
    const asked = story.ask(call);
    story.append('session.closed', { reason: 'bye' });
    expect(told(story, story.answer(asked, {}))).toBe('approve');
  });

  test.each(['approve', 'reject', 'edit'] as const)('%s', (verdict) => {
    const story = proposed([call]);
    expect(told(story, story.answer(story.ask(call), { verdict, newIntent: 'i9', input: {} }))).toBe(verdict);
  });
});

/** `i1` asked and edited by ada into `i2`, which is validated. */
function edited(
  input: unknown = call.input,
  over: Partial<{ rawInput: unknown; person: string; answerId: string }> = {},
): Story {
  const story = proposed([call]);
  const answer = story.answer(story.ask(call), { verdict: 'edit', newIntent: 'i2', input });
  const { person = 'ada', answerId = answer.envelope.id, rawInput = input } = over;
  story.append(
    'tool.approval.denied',
    { kind: 'superseded', rule: null, reason: 'x', verdicts: [], person, by: 'i2' },
    { intent: 'i1' },
  );
  story.append(
    'tool.intent',
    {
      tool: 'bash',
      rawInput,
      inputFormat: 'json',
      proposer: 'person',
      supersedes: { intent: 'i1', answerId, person },
    },
    { intent: 'i2' },
  );
  story.append('tool.validated', call, { intent: 'i2' });
  return story;
}

describe('the edit behind a call', () => {
  const behind = (story: Story): string | null => {
    const lane = story.state().lanes.i2;
    return (lane && editBehind(story.state(), lane)?.person) ?? null;
  };
  test('is the answer of the person who signed it', () => {
    expect(behind(edited())).toBe('ada');
  });
  test.each([
    ['with another input than was signed', { rawInput: { command: 'rm -rf .' } }],
    ['in the name of another', { person: 'bob' }],
    ['with an answer that is not there', { answerId: '01J00000000000000000000099' }],
  ])('is none %s', (_name, over) => {
    expect(behind(edited(call.input, over))).toBeNull();
  });
  test('is none for a call of the model', () => {
    const story = proposed([edit('a')]);
    const lane = story.state().lanes.i1;
    expect(lane && editBehind(story.state(), lane)).toBeNull();
  });
});

test('what was observed is forgotten', () => {
  const story = edited();
  story.append(
    'tool.approval.denied',
    { kind: 'rule', rule: null, reason: 'x', verdicts: [] },
    { intent: 'i2' },
  );
  const observed = {
    tool: 'bash',
    ending: 'denied',
    isError: true,
    parts: [],
    omittedBytes: 0,
    artifacts: [],
  } as const;
  for (const intent of ['i2', 'i1']) {
    story.append('tool.observation', { ...observed, parts: [], artifacts: [] }, { intent });
  }
  expect(story.state()).toMatchObject({ lanes: {}, edits: {} });
});
