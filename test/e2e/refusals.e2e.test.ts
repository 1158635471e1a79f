/** Every way in which a call does not run: the model is told why, and the run goes on or ends honestly. */
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import {
  assertSound,
  dataOf,
  follow,
  type Played,
  type PlayOptions,
  play,
  type ScriptPart,
} from '../harness/session.ts';
import { bash, intentsOf, onlyIntentOf, turn, whenTold } from './lanes.ts';

const REFUSED_EARLY = ['tool.intent', 'tool.validation_failed', 'tool.observation'];

const NO_DEPLOYS = `version: 1
rules:
  - { id: no-deploys, decision: deny, reason: Only the pipeline deploys., when: { command: { prefix: deploy } } }
`;
const NO_WRITES = `version: 1
rules:
  - { id: no-writes, decision: deny, reason: Nothing is written on Sundays., when: { tool: write_file } }
`;
const QUICK_ASK = `version: 1
rules:
  - { id: quick, decision: ask, reason: Quickly., when: { tool: write_file }, expires: 1s }
`;

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
  workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
});
afterAll(() => house?.stop());

/** One call, then an answer that only comes when the model was told what `told` matches. */
async function propose(
  call: ScriptPart,
  told: string,
  more: Partial<PlayOptions> = {},
): Promise<Played & { types: readonly string[]; told: string; ending: string | undefined }> {
  const turns = [turn(call), whenTold(told, { text: 'I see that it did not run.' })];
  const played = await play(client, { turns, workspace, ...more });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(finalText(played.state)).toBe('I see that it did not run.');
  assertSound(played);
  expect(dataOf(played, 'tool.execution.started')).toEqual([]);
  const { types, told: observation, ending } = onlyIntentOf(played);
  return { ...played, types, told: observation, ending };
}

describe('refused by validation', () => {
  test.each([
    ['a field that is missing', { tool: 'read_file', input: {} }, 'schema_mismatch'],
    ['a field of another type', { tool: 'read_file', input: { path: 7 } }, 'schema_mismatch'],
    ['a field that is not known', { tool: 'read_file', input: { path: 'a', pth: 'b' } }, 'schema_mismatch'],
    ['arguments that are no JSON', { tool: 'read_file', rawInput: '{"path": "notes' }, 'malformed_arguments'],
    ['a file that is not there', { tool: 'read_file', input: { path: 'nots.txt' } }, 'file_not_found'],
    ['a path that leads out', { tool: 'read_file', input: { path: '../x' } }, 'path_outside_workspace'],
    [
      'a file that was not read',
      { tool: 'edit_file', input: { path: 'notes.txt', oldText: 'milk', newText: 'tea' } },
      'file_not_read',
    ],
    ['a tool that nobody has', { tool: 'frobnicate', input: {} }, 'unknown_tool'],
    ['a name that no tool can have', { tool: 'rm -rf /; *.>', input: {} }, 'unknown_tool'],
  ])('%s', async (_what, call, code) => {
    const played = await propose(call, code);
    expect(played.types).toEqual(REFUSED_EARLY);
    expect(played.ending).toBe('invalid');
    const [error] = dataOf(played, 'tool.validation_failed')[0]?.errors ?? [];
    expect(error).toMatchObject({ code });
    expect(error?.advice).not.toBe('');
    expect(played.told).toContain(error?.advice);
  });

  test('a tool that this mode does not show', async () => {
    const call = { tool: 'write_file', input: { path: 'x.txt', content: 'x' } };
    const { types, told, entries } = await propose(call, 'tool_not_visible', { mode: 'read-only' });
    expect(types).toEqual(REFUSED_EARLY);
    expect(told).toContain('tool_not_visible');
    const shown = dataOf({ entries }, 'model.requested')[0]?.tools.map(({ name }) => name);
    expect(shown).toContain('read_file');
    expect(shown).not.toContain('write_file');
    expect(shown).not.toContain('bash');
  });
});

describe('refused by decision', () => {
  test('a rule denies it: the model is told which and why', async () => {
    const { types, told, ending } = await propose(
      { tool: 'write_file', input: { path: 'x.txt', content: 'x' } },
      'no-writes',
      { userPolicy: NO_WRITES },
    );
    expect(types).toEqual(['tool.intent', 'tool.validated', 'tool.approval.denied', 'tool.observation']);
    expect(ending).toBe('denied');
    expect(told).toContain('Nothing is written on Sundays.');
  });

  test('a person who would approve is not asked where a rule denies', async () => {
    const { told, entries } = await propose(bash('deploy --now'), 'no-deploys', { userPolicy: NO_DEPLOYS });
    expect(told).toContain('Only the pipeline deploys.');
    expect(dataOf({ entries }, 'tool.approval.asked')).toEqual([]);
  });

  test('a person rejects it', async () => {
    const { types, told } = await propose(
      { tool: 'write_file', input: { path: 'x.txt', content: 'x' } },
      'rejected_by_person',
      { mode: 'normal', onAsk: () => ({ verdict: 'reject', comment: 'put it elsewhere' }) },
    );
    expect(types).toEqual([
      'tool.intent',
      'tool.validated',
      'tool.approval.asked',
      'tool.approval.denied',
      'tool.observation',
    ]);
    expect(told).toContain('put it elsewhere');
  });

  test('nobody answers in time', async () => {
    const { types, told, entries } = await propose(
      { tool: 'write_file', input: { path: 'x.txt', content: 'x' } },
      'approval_expired',
      {
        mode: 'normal',
        onAsk: () => null,
        userPolicy: QUICK_ASK,
      },
    );
    expect(types).toEqual([
      'tool.intent',
      'tool.validated',
      'tool.approval.asked',
      'tool.approval.denied',
      'tool.observation',
    ]);
    expect(dataOf({ entries }, 'tool.approval.denied')[0]?.kind).toBe('expired');
    expect(told).toContain('approval_expired');
  });
});

test('a call that was cancelled is told in the next run', async () => {
  const played = await play(client, {
    workspace,
    mode: 'normal',
    turns: [
      turn({ tool: 'write_file', input: { path: 'x.txt', content: 'x' } }),
      whenTold('cancelled', { text: 'I leave it, then.' }),
    ],
    onAsk: async (_ask, session) => {
      await session.cancel('changed my mind');
      return null;
    },
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'cancelled' });
  assertSound(played);
  expect(onlyIntentOf(played)).toMatchObject({
    ending: 'cancelled',
    types: ['tool.intent', 'tool.validated', 'tool.approval.asked', 'tool.cancelled', 'tool.observation'],
  });

  const { seq } = await played.session.say('and now?');
  const after = await follow(played.session, seq, {});
  expect(after.state.lastRun).toMatchObject({ reason: 'completed', number: 2 });
  expect(finalText(after.state)).toBe('I leave it, then.');
  assertSound(after);
});

test('one refusal after another: each is told, and the run ends with what the model makes of it', async () => {
  const played = await play(client, {
    workspace,
    userPolicy: NO_DEPLOYS,
    turns: [
      turn({ tool: 'frobnicate', input: {} }, bash('deploy --now'), { tool: 'read_file', rawInput: 'x' }),
      whenTold('unknown_tool[\\s\\S]*no-deploys[\\s\\S]*malformed_arguments', {
        tool: 'read_file',
        input: { path: 'notes.txt' },
      }),
      whenTold('buy milk', { text: 'Milk.' }),
    ],
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(intentsOf(played).map(({ ending }) => ending)).toEqual(['invalid', 'denied', 'invalid', 'success']);
  assertSound(played);
});
