/** How an answer of the model stops, and what the run makes of it. */
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import {
  assertSound,
  dataOf,
  type Played,
  type PlayOptions,
  play,
  type ScriptTurn,
  typesOf,
} from '../harness/session.ts';
import { bash, intentsOf, turn, whenTold } from './lanes.ts';

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse({ env: { INTERLOCK_MODEL_BACKOFF_MS: '10' } });
  client = await house.client();
  workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
});
afterAll(() => house?.stop());

const READ_NOTES = { tool: 'read_file', input: { path: 'notes.txt' } } as const;

async function run(turns: readonly ScriptTurn[], more: Partial<PlayOptions> = {}): Promise<Played> {
  const played = await play(client, { workspace, turns, ...more });
  assertSound(played);
  return played;
}

function requestsOf(played: Played): readonly { because: string; turn: number | undefined }[] {
  return played.entries.flatMap((entry) =>
    entry.type === 'model.requested' ? [{ because: entry.data.because, turn: entry.envelope.turn }] : [],
  );
}

describe('the answer is over', () => {
  test.each([
    ['end_turn', 'completed'],
    ['stop_sequence', 'completed'],
    ['unknown', 'completed'],
    ['refusal', 'refused'],
    ['content_filter', 'refused'],
    ['max_tokens', 'length'],
    ['context_window', 'context_window'],
  ])('%s without calls: %s', async (stop, reason) => {
    const played = await run([{ parts: [{ text: 'So far.' }], stop }]);
    expect(played.state.lastRun).toMatchObject({ reason });
    expect(finalText(played.state)).toBe('So far.');
    expect(requestsOf(played)).toHaveLength(1);
  });

  test.each(['refusal', 'content_filter', 'context_window'])(
    '%s with a call: it does not run',
    async (stop) => {
      const played = await run([{ parts: [READ_NOTES], stop }]);
      expect(intentsOf(played)).toEqual([]);
      expect(played.state.lastRun?.reason).not.toBe('completed');
    },
  );

  test('unknown with calls: they run, and the model is asked again', async () => {
    const played = await run([{ parts: [READ_NOTES], stop: 'unknown' }, whenTold('milk', { text: 'Milk.' })]);
    expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
    expect(finalText(played.state)).toBe('Milk.');
  });
});

describe('the answer was cut by the token limit', () => {
  test('none of its calls run, and the next turn is told so', async () => {
    const played = await run([
      { parts: [READ_NOTES, bash('touch never.txt')], stop: 'max_tokens' },
      whenTold('cut off[\\s\\S]*not run', READ_NOTES),
      whenTold('milk', { text: 'Milk.' }),
    ]);
    expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
    expect(intentsOf(played)).toHaveLength(1);
    expect(requestsOf(played).map(({ turn: number }) => number)).toEqual([1, 2, 3]);
  });

  test('twice in a row: the run ends', async () => {
    const cut = { parts: [READ_NOTES], stop: 'max_tokens' };
    const played = await run([cut, cut, turn({ text: 'never' })]);
    expect(played.state.lastRun).toMatchObject({ reason: 'length' });
    expect(played.state.scriptUnused).toEqual([2]);
    expect(intentsOf(played)).toEqual([]);
  });
});

test('a pause and a compaction within one turn: the model is asked again, the turn stays the same', async () => {
  const played = await run([
    { parts: [{ text: 'Wait.' }], stop: 'pause' },
    { parts: [{ text: 'Summed up.' }], stop: 'compaction' },
    turn(READ_NOTES),
    whenTold('milk', { text: 'Milk.' }),
  ]);
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(requestsOf(played)).toEqual([
    { because: 'next_turn', turn: 1 },
    { because: 'pause', turn: 1 },
    { because: 'compaction', turn: 1 },
    { because: 'next_turn', turn: 2 },
  ]);
});

describe('budgets', () => {
  test('turns', async () => {
    const played = await run([turn(READ_NOTES), turn({ text: 'never' })], { budgets: { maxTurns: 1 } });
    expect(played.state.lastRun).toMatchObject({ reason: 'max_turns' });
    expect(requestsOf(played)).toHaveLength(1);
    expect(intentsOf(played)[0]?.ending).toBe('success');
  });

  test('tokens', async () => {
    const usage = { inputUncached: 900, output: 200 };
    const played = await run([{ ...turn(READ_NOTES), usage }, turn({ text: 'never' })], {
      budgets: { maxTokens: 1000 },
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'budget' });
    expect(dataOf(played, 'run.finished')[0]?.detail).toContain('1100 of 1000 tokens');
    // The call of the answer that used them up does not run any more.
    expect(intentsOf(played)[0]).toMatchObject({ ending: 'invalid' });
    expect(intentsOf(played)[0]?.told).toContain('budget_exhausted');
  });

  test('wall time: what runs is stopped and observed', async () => {
    const played = await run([turn(bash('sleep 300')), turn({ text: 'never' })], {
      budgets: { maxWallMs: 1500 },
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'budget' });
    expect(typesOf(played)).toContain('run.cancel');
    expect(dataOf(played, 'run.cancel')[0]).toMatchObject({ reason: 'budget', by: 'observer' });
    expect(intentsOf(played)[0]?.types.at(-1)).toBe('tool.observation');
  });
});

describe('the model does not answer', () => {
  test('the script has nothing for this point', async () => {
    const played = await run([turn(READ_NOTES), whenTold('whisky', { text: 'never' })]);
    expect(played.state.lastRun).toMatchObject({ reason: 'model_failed' });
    expect(played.state.lastError).toMatchObject({ code: 'script_no_match' });
    expect(played.state.scriptUnused).toEqual([1]);
  });

  test('an error that passes: tried again, on record and charged', async () => {
    const played = await run([
      { parts: [], error: { category: 'overloaded' } },
      { parts: [{ text: 'half of this' }], cut: true },
      turn({ text: 'There.' }),
    ]);
    expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
    expect(finalText(played.state)).toBe('There.');
    expect(dataOf(played, 'model.retrying').map(({ category }) => category)).toEqual([
      'overloaded',
      'stream_truncated',
    ]);
    expect(dataOf(played, 'model.attempt.started').map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test('an error that stays: the run ends and says which', async () => {
    const played = await run([{ parts: [], error: { category: 'auth' } }, turn({ text: 'never' })]);
    expect(played.state.lastRun).toMatchObject({ reason: 'model_failed' });
    expect(played.state.lastError).toMatchObject({ code: 'auth' });
    expect(dataOf(played, 'model.retrying')).toEqual([]);
  });

  test('a failed run does not stand in the way of the next', async () => {
    const played = await run([{ parts: [], error: { category: 'billing' } }, turn({ text: 'Paid.' })]);
    const texts: string[] = [];
    for await (const output of played.session.send('again')) {
      if (output.type === 'status') texts.push(output.status);
    }
    const state = await played.session.getState();
    expect(state.lastRun).toMatchObject({ reason: 'completed', number: 2 });
    expect(texts.at(-1)).toBe('completed');
    expect(finalText(state)).toBe('Paid.');
  });
});
