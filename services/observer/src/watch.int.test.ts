import { BUCKETS, callOf, leaseKey } from '@interlock/contracts';
import { sample } from '@interlock/contracts/testing';
import { createSigner, generateKeyPair, putWithTtl } from '@interlock/kit';
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

async function calling(...intents: string[]): Promise<Cast> {
  const cast = new Cast(house);
  await cast.open();
  await cast.ask();
  await cast.call(...intents);
  return cast;
}

const stranger = createSigner(generateKeyPair().privateKey);

describe('a pool that is gone', () => {
  test('after the claim: the observer says that nothing is known, and signs it', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated', 'allowed');
    await cast.claim('a', 100);
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation).toMatchObject({ ending: 'indeterminate', isError: true });
    const [fact] = await cast.all('tool.execution.completed');
    expect(fact).toMatchObject({
      authenticity: 'verified',
      data: {
        outcome: 'indeterminate',
        code: 'outcome_unknown',
        claimSeq: callOf(state, 'a')?.claim?.seq,
        epoch: 1,
      },
    });
    expect(fact?.envelope.source).toMatch(/^interlock\/observer\//);
    // The holder comes back: its fact is a stray.
    await cast.complete('a');
    expect((await cast.state()).skipped).toBe(1);
    await cast.verify();
  });

  test('but not while its lease is renewed', async () => {
    const cast = await calling('leased');
    await cast.take('leased', 'validated', 'allowed');
    await putWithTtl(house.bus, BUCKETS.leases, leaseKey('fs', 'leased'), 'worker', 2000);
    const since = performance.now();
    await cast.claim('leased', 1);
    await cast.when((state) => callOf(state, 'leased')?.stage === 'observed');
    expect(performance.now() - since).toBeGreaterThan(1000);
    await cast.verify();
  });

  test('before the claim: the permit expires and the call is withdrawn', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated');
    await cast.allow('a', 200);
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.ending).toBe('cancelled');
    expect((await cast.all('tool.cancelled'))[0]?.data.reason).toBe('expired');
    await cast.verify();
  });
});

describe('a forged fact', () => {
  test('is skipped, and the holder`s own stands behind it', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated', 'allowed', 'started');
    await cast.complete('a', { output: [{ channel: 'content', text: 'forged', omittedBytes: 0 }] }, stranger);
    await cast.complete('a');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(JSON.stringify(callOf(state, 'a')?.observation?.parts)).not.toContain('forged');
    expect(state.skipped).toBe(1);
    await cast.verify();
  });

  test('and no holder: the lease lapses, nothing is taken from the forgery', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated', 'allowed');
    await cast.claim('a', 300);
    await cast.complete('a', { output: [{ channel: 'content', text: 'forged', omittedBytes: 0 }] }, stranger);
    const [forged] = await cast.all('tool.execution.completed');
    if (forged) await cast.quarantine(forged, 'bad_signature');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.ending).toBe('indeterminate');
    await cast.verify();
  });

  test('signed by an executor of another pool is forged too', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated', 'allowed', 'started');
    await cast.complete('a', {}, house.keys.signers.get('executor-shell'));
    await cast.complete('a');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(state.skipped).toBe(1);
  });
});

describe('a quarantined message', () => {
  test('that was the permit: the call is withdrawn', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated', 'allowed');
    const permit = (await cast.all('tool.approval.allowed'))[0];
    if (permit) await cast.quarantine(permit, 'dead_letter');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.ending).toBe('cancelled');
    await cast.verify();
  });

  test('that was the request: the run fails', async () => {
    const cast = new Cast(house);
    await cast.open();
    await cast.ask();
    await cast.request();
    const request = (await cast.all('model.requested'))[0];
    if (request) await cast.quarantine(request, 'dead_letter');
    await cast.when(({ lastRun }) => lastRun?.reason === 'model_failed');
    await cast.verify();
  });

  test('that was a forged permit: after a while nobody goes on, so the call is withdrawn', async () => {
    const cast = await calling('a');
    await cast.take('a', 'validated');
    const { invocation, ...rest } = sample('tool.approval.allowed');
    const data = { ...rest, invocation: { ...invocation, intent: 'a' } };
    const forged = await cast.add('tool.approval.allowed', data, { intent: 'a', signer: stranger });
    await cast.quarantine(forged, 'bad_signature');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.ending).toBe('cancelled');
    await cast.verify();
  });

  test('that is a stray among honest steps changes nothing', async () => {
    const cast = await calling('a');
    const stray = await cast.add('tool.intent', sample('tool.intent'), { intent: 'a' });
    await cast.quarantine(stray, 'illegal_transition');
    await cast.run('a');
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.ending).toBe('success');
  });
});

describe('the wall time of a run', () => {
  test('ends it, on record', async () => {
    const cast = new Cast(house);
    await cast.open({ budgets: { maxWallMs: 500 } });
    await cast.ask();
    await cast.request();
    await cast.add('model.attempt.started', sample('model.attempt.started'));
    await cast.when(({ lastRun }) => lastRun?.reason === 'budget');
    expect((await cast.all('run.cancel'))[0]?.data).toMatchObject({ reason: 'budget', by: 'observer' });
    await cast.verify();
  });

  test('stands still while a person is waited for', async () => {
    const cast = new Cast(house);
    await cast.open({ budgets: { maxWallMs: 1000 } });
    await cast.ask();
    await cast.call('a');
    await cast.take('a', 'validated', 'asked');
    const waiting = await cast.state();
    expect(waiting.status).toBe('waiting_for_approval');
    const askedAt = Date.parse(waiting.run?.waitingSince ?? '');
    await until(() => Date.now() > askedAt + 1700);
    expect((await cast.state()).run?.cancel).toBeNull();
    await cast.take('a', 'denied');
    await cast.when(({ lastRun }) => lastRun?.reason === 'budget');
  });

  test('of an earlier run does not end a later one', async () => {
    const cast = new Cast(house);
    await cast.open({ budgets: { maxWallMs: 900 } });
    await cast.ask();
    await cast.answer([{ type: 'text', text: 'Done.' }]);
    await cast.when(({ lastRun }) => lastRun?.number === 1);
    const started = Date.now();
    await cast.ask();
    await cast.call('a');
    await cast.take('a', 'validated', 'asked');
    await until(() => Date.now() > started + 1500);
    expect((await cast.state()).run?.cancel).toBeNull();
  });
});

describe('timers', () => {
  test('outlive the observer that set them, and the server', async () => {
    const own = await startHouse();
    try {
      const first = await own.observer();
      const cast = new Cast(own);
      await cast.open({ budgets: { maxWallMs: 60_000 } });
      await cast.ask();
      await cast.call('a');
      await cast.take('a', 'validated', 'allowed');
      await cast.claim('a', 200);
      await first.stop();
      await own.nats.restart();
      await own.observer();
      const state = await cast.when(({ request }) => request?.turn === 2);
      expect(callOf(state, 'a')?.observation?.ending).toBe('indeterminate');
      await cast.verify();
    } finally {
      await own.stop();
    }
  }, 60_000);
});
