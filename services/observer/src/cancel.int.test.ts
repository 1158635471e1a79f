import { callOf } from '@interlock/contracts';
import { sample, toolCall } from '@interlock/contracts/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cast } from '../test/cast.ts';
import { type House, startHouse, until } from '../test/house.ts';

let house: House;
beforeAll(async () => {
  house = await startHouse();
  await house.observer();
  await house.observer();
});
afterAll(() => house?.stop());

async function asked(): Promise<Cast> {
  const cast = new Cast(house);
  await cast.open();
  await cast.ask();
  await cast.request();
  return cast;
}

async function cancelled(cast: Cast): Promise<void> {
  await cast.when(({ run, lastRun }) => run === null && lastRun?.reason === 'cancelled');
  await cast.verify();
}

describe('a cancel', () => {
  test('when nothing runs and nothing was said is nothing', async () => {
    const cast = new Cast(house);
    await cast.open();
    await cast.cancel();
    await cast.ask();
    await cast.request();
    expect(await cast.types()).toEqual([
      'session.opened',
      'run.cancel',
      'user.message',
      'run.started',
      'model.requested',
    ]);
  });

  test('of a request that no gateway has claimed ends at once', async () => {
    const cast = await asked();
    await cast.cancel();
    await cancelled(cast);
  });

  test('while the model streams: the gateway is told, and ends it', async () => {
    const cast = await asked();
    await cast.add('model.attempt.started', sample('model.attempt.started'));
    const { request } = await cast.state();
    await cast.cancel();
    await until(() => cast.controls.some(({ requestId }) => requestId === request?.id));
    await cast.add('model.failed', sample('model.failed', { category: 'model_cancelled', partial: 'so f' }));
    await cancelled(cast);
    expect((await cast.all('run.finished'))[0]?.data).toMatchObject({
      detail: 'cancelled by ada',
      usage: { output: 30 },
    });
  });

  test('while the model streams: a gateway that does not hear is told again, then left behind', async () => {
    const cast = await asked();
    await cast.add('model.attempt.started', sample('model.attempt.started'));
    const since = performance.now();
    await cast.cancel();
    await cancelled(cast);
    expect(performance.now() - since).toBeGreaterThan(550);
    expect(cast.controls.length).toBeGreaterThan(2);
    // Its answer comes too late and counts for nothing.
    await cast.add('model.message', sample('model.message', { parts: [toolCall('late')] }));
    expect(callOf(await cast.state(), 'late')).toBeUndefined();
  });

  test('before the intents are derived: `tool.cancelled` is the first event of each lane', async () => {
    const cast = await asked();
    await cast.answer([toolCall('a'), toolCall('b')]);
    await cast.cancel();
    await cancelled(cast);
    const lanes = (await cast.entries()).filter(({ subject }) => subject.includes('.i.a.'));
    expect(lanes.map(({ type }) => type)).toEqual(['tool.cancelled', 'tool.observation']);
    expect(callOf(await cast.state(), 'b')?.observation?.ending).toBe('cancelled');
  });

  test('of a claimed call: its executor is told until the fact is there; the others are withdrawn', async () => {
    const cast = await asked();
    await cast.call('runs', 'asks', 'may', 'done');
    await cast.run('done');
    await cast.take('runs', 'validated', 'allowed', 'started');
    await cast.take('asks', 'validated', 'asked');
    await cast.take('may', 'validated', 'allowed');
    await cast.cancel();
    await until(() => cast.controls.filter(({ intents }) => intents.includes('runs')).length >= 3);
    expect(cast.controls.some(({ intents }) => intents.length > 1)).toBe(false);
    expect((await cast.state()).run).not.toBeNull();
    await cast.complete('runs', { outcome: 'failed', code: 'aborted', signal: 'SIGKILL' });
    await cancelled(cast);
    const { calls } = await cast.state();
    expect(
      Object.fromEntries(Object.values(calls).map((call) => [call.intent, call.observation?.ending])),
    ).toEqual({
      runs: 'failed',
      asks: 'cancelled',
      may: 'cancelled',
      done: 'success',
    });
  });

  test('that crosses the model`s answer leaves no call open', async () => {
    for (let round = 0; round < 5; round++) {
      const cast = await asked();
      await cast.add('model.attempt.started', sample('model.attempt.started'));
      const parts = [toolCall('a'), toolCall('b')];
      await Promise.all([
        cast.cancel(),
        cast.add('model.message', sample('model.message', { parts, stop: 'tool_calls' })),
      ]);
      await cancelled(cast);
      for (const { observation } of Object.values((await cast.state()).calls)) {
        expect(observation?.ending).toBe('cancelled');
      }
    }
  });

  test('right behind a message is meant for the run of that message', async () => {
    for (let round = 0; round < 5; round++) {
      const cast = new Cast(house);
      await cast.open();
      await cast.ask();
      await cast.cancel();
      await cancelled(cast);
      expect((await cast.state()).pending).toEqual([]);
    }
  });

  test('takes back what was said before it; what is said after it starts the next run', async () => {
    const cast = await asked();
    await cast.call('a');
    await cast.take('a', 'validated', 'allowed', 'started');
    await cast.ask('before');
    await cast.cancel();
    await cast.ask('after');
    await cast.complete('a', { outcome: 'failed', code: 'aborted' });
    const state = await cast.when(({ run, request }) => run?.number === 2 && request !== null);
    expect(state.entries.map((entry) => ('text' in entry ? entry.text : entry.kind))).toEqual([
      'do it',
      'assistant',
      'before',
      'after',
    ]);
    expect((await cast.all('run.finished'))[0]?.data.reason).toBe('cancelled');
    await cast.verify();
  });
});

describe('closing the session', () => {
  test('ends the run as cancelled, and no other begins', async () => {
    const cast = await asked();
    await cast.call('a', 'b');
    await cast.take('a', 'validated', 'allowed', 'started');
    await cast.say('session.closed', { reason: 'enough' });
    await until(() => cast.controls.some(({ intents }) => intents.includes('a')));
    await cast.ask('too late');
    await cast.complete('a', { outcome: 'failed', code: 'aborted' });
    await cancelled(cast);
    expect((await cast.state()).calls.b?.observation?.ending).toBe('cancelled');
    expect(await cast.all('run.started')).toHaveLength(1);
  });
});
