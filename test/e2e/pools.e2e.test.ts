/** A pool without an executor, and one that is gone for good: the call ends, the model is told the truth, the run goes on. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, dataOf, type Played, type PlayOptions, play } from '../harness/session.ts';
import { consumerOf, isIdle } from './consumers.ts';
import { bash, intentsOf, turn, whenTold } from './lanes.ts';

const SHELL = 'executor-shell';

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse({
    mode: 'processes',
    restart: false,
    // Shorter than anybody would set them, so that the end of a pool is seen within seconds.
    env: {
      INTERLOCK_PREFLIGHT_DEADLINE_MS: '1000',
      INTERLOCK_INVOCATION_TTL_MS: '3000',
      INTERLOCK_LEASE_MS: '2000',
      INTERLOCK_LEASE_GRACE_MS: '500',
      INTERLOCK_WATCH_MS: '500',
    },
    // Of each process that is started: the second claim is its last.
    serviceEnv: { [SHELL]: { INTERLOCK_FAILPOINT: 'before-append:tool.execution.started:2' } },
  });
  client = await house.client();
  workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
});
afterAll(() => house?.stop());

async function run(more: Pick<PlayOptions, 'turns' | 'onEvent'>): Promise<Played> {
  const played = await play(client, { workspace, ...more });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  assertSound(played);
  return played;
}

async function bringBack(): Promise<void> {
  await house.house.restart(SHELL);
  await expect.poll(async () => (await house.house.health())[SHELL], { timeout: 30_000 }).toBe(true);
}

test('gone for good after a claim: nobody knows whether it happened, and the model is told so', async () => {
  let killed = false;
  const played = await run({
    turns: [
      turn(bash('echo once >> effect.txt; sleep 300'), { tool: 'read_file', input: { path: 'notes.txt' } }),
      whenTold('It is not known whether this call happened[\\s\\S]*milk', { text: 'Unclear.' }),
    ],
    onEvent: async ({ type }) => {
      if (type !== 'tool.execution.started' || killed) return;
      killed = true;
      await house.house.kill(SHELL, 'SIGKILL');
    },
  });
  const [lost, read] = intentsOf(played);
  expect(lost).toMatchObject({ ending: 'indeterminate' });
  expect(read).toMatchObject({ ending: 'success' });
  expect(dataOf(played, 'tool.execution.completed')[0]).toMatchObject({
    outcome: 'indeterminate',
    code: 'outcome_unknown',
  });
  const fact = played.raw.find(({ event }) => event.type === 'tool.execution.completed')?.event;
  expect(fact?.source).toMatch(/^interlock\/observer\//);
  expect(finalText(played.state)).toBe('Unclear.');
});

test('no executor at all: the call is not valid now, and the model may try something else', async () => {
  expect(house.house.pids()[SHELL]).toBeUndefined();
  const played = await run({
    turns: [
      turn(bash('cat notes.txt')),
      whenTold('pool_unavailable', { tool: 'read_file', input: { path: 'notes.txt' } }),
      whenTold('milk', { text: 'Milk.' }),
    ],
  });
  expect(intentsOf(played).map(({ types }) => types.length)).toEqual([3, 6]);
  expect(dataOf(played, 'tool.validation_failed')[0]?.errors).toMatchObject([{ code: 'pool_unavailable' }]);
  expect(finalText(played.state)).toBe('Milk.');
});

test('back again: it takes up calls, and has not run the lost one again', async () => {
  await bringBack();
  const played = await run({ turns: [turn(bash('cat notes.txt')), whenTold('milk', { text: 'Milk.' })] });
  expect(intentsOf(played)[0]).toMatchObject({ ending: 'success' });
  const effects = await readFile(join(workspace, 'effect.txt'), 'utf8').catch(() => '');
  expect(effects.length).toBeLessThanOrEqual('once\n'.length);
});

test('gone for good before it claims: the permit expires, and nothing ran', async () => {
  const played = await run({
    turns: [turn(bash('touch never.txt')), whenTold('nobody took the call up', { text: 'Nobody.' })],
  });
  expect(intentsOf(played)[0]?.types.slice(-3)).toEqual([
    'tool.approval.allowed',
    'tool.cancelled',
    'tool.observation',
  ]);
  expect(dataOf(played, 'tool.cancelled')[0]?.reason).toBe('expired');
  expect(house.house.pids()[SHELL]).toBeUndefined();
  // Back after all, it finds a closed lane and leaves it alone.
  await bringBack();
  const operator = await house.as('operator');
  await expect.poll(async () => isIdle(await consumerOf(operator, SHELL)), { timeout: 30_000 }).toBe(true);
  await expect(readFile(join(workspace, 'never.txt'))).rejects.toThrow('ENOENT');
  const after = await played.session.getState();
  expect(after.throughSeq).toBe(played.state.throughSeq);
});
