/** One turn with several calls: what runs side by side, what waits, and in which order the world changes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, play, type ScriptPart } from '../harness/session.ts';
import { bash, intentsOf, type PlayedIntent, seqOf, turn, whenTold } from './lanes.ts';

/** Reading `a.txt` needs a person, who takes as long as the test likes. */
const ASK_FOR_A = `version: 1
rules:
  - { id: ask-a, decision: ask, reason: A is special., when: { tool: read_file, paths: { globs: a.txt } } }
`;

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
  workspace = await house.workspace({
    'a.txt': 'text of a\n',
    'b.txt': 'text of b\n',
    'c.txt': 'text of c\n',
  });
});
afterAll(() => house?.stop());

const read = (path: string): ScriptPart => ({ tool: 'read_file', input: { path } });
const write = (path: string, content: string): ScriptPart => ({
  tool: 'write_file',
  input: { path, content },
});

/** The intents in the order in which the model proposed them. */
function named<const Names extends readonly string[]>(
  intents: readonly PlayedIntent[],
  names: Names,
): { [Index in keyof Names]: PlayedIntent } {
  expect(intents.map(({ tool }) => tool)).toEqual(names);
  return intents as never;
}

test('reads of a group do not wait for one another; a write waits for all of them', async () => {
  const typesWhileAsked: (string | undefined)[] = [];
  const played = await play(client, {
    workspace,
    userPolicy: ASK_FOR_A,
    turns: [
      turn(read('a.txt'), read('b.txt'), read('c.txt'), write('d.txt', 'new'), read('d.txt')),
      whenTold('text of a[\\s\\S]*text of b[\\s\\S]*text of c[\\s\\S]*new', { text: 'All read.' }),
    ],
    onAsk: () => null,
    // The person answers only once the other two reads are over.
    onEvent: async (_entry, session) => {
      const { calls } = await session.getState();
      const [a, b, c, d, last] = Object.values(calls);
      if (a?.stage !== 'asked' || a.asked?.answer || b?.stage !== 'observed' || c?.stage !== 'observed')
        return;
      typesWhileAsked.push(d?.stage, last?.stage);
      const ask = {
        intent: a.intent,
        askedId: a.asked?.id ?? '',
        bindingSha256: a.asked?.bindingSha256 ?? '',
      };
      await session.answer(ask, { verdict: 'approve' });
    },
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(finalText(played.state)).toBe('All read.');
  expect(typesWhileAsked.slice(0, 2)).toEqual(['proposed', 'proposed']);
  const byPlace = Object.keys(played.state.calls).map(
    (intent) => intentsOf(played).find((one) => one.intent === intent) as PlayedIntent,
  );
  const [a, b, c, d, last] = named(byPlace, [
    'read_file',
    'read_file',
    'read_file',
    'write_file',
    'read_file',
  ] as const);
  for (const earlier of [a, b, c])
    expect(seqOf(d, 'tool.validated')).toBeGreaterThan(seqOf(earlier, 'tool.observation'));
  expect(seqOf(last, 'tool.validated')).toBeGreaterThan(seqOf(d, 'tool.observation'));
  assertSound(played);
});

test('calls that change something run one after another, in the order proposed', async () => {
  const steps = ['one', 'two', 'three', 'four', 'five'];
  const played = await play(client, {
    workspace,
    turns: [
      turn(...steps.map((step) => bash(`echo ${step} >> order.txt; cat order.txt`))),
      whenTold('five', { text: 'Done.' }),
    ],
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(await readFile(join(workspace, 'order.txt'), 'utf8')).toBe(`${steps.join('\n')}\n`);
  const claims = played.entries.filter(({ type }) => type === 'tool.execution.started');
  const observations = played.entries.filter(({ type }) => type === 'tool.observation');
  for (const [index, observation] of observations.slice(0, -1).entries())
    expect(claims[index + 1]?.seq).toBeGreaterThan(observation.seq);
  assertSound(played);
});

test('the next turn is asked for once, after the last observation, whichever call that is', async () => {
  const many = Array.from({ length: 12 }, (_, index) => read(['a.txt', 'b.txt', 'c.txt'][index % 3] ?? ''));
  const played = await play(client, {
    workspace,
    turns: [turn(...many), whenTold('text of c', { text: 'Twelve.' })],
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(played.entries.filter(({ type }) => type === 'model.requested')).toHaveLength(2);
  expect(played.entries.filter(({ type }) => type === 'tool.observation')).toHaveLength(12);
  assertSound(played);
});
