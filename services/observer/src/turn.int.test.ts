import {
  callOf,
  DURABLES,
  EMPTY_LANE,
  PROJECTION,
  projectContext,
  SYSTEM_SESSION,
} from '@interlock/contracts';
import { READ_FILE, sample, toolCall, WRITE_FILE } from '@interlock/contracts/testing';
import { append, contextSnapshotId, getArtifact, systemClock, systemIds } from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cast } from '../test/cast.ts';
import { type House, startHouse, until } from '../test/house.ts';

let house: House;
beforeAll(async () => {
  house = await startHouse();
  await registerTools();
  await house.observer();
  await house.observer();
});
afterAll(() => house?.stop());

/** The house's tools, as the event-store registers them. */
async function registerTools(): Promise<void> {
  const writer = { service: 'event-store', instance: 'test', clock: systemClock, ids: systemIds };
  let tail = EMPTY_LANE;
  for (const tool of [READ_FILE, WRITE_FILE]) {
    const { definition } = sample('tool.registered');
    const { name, digest, readOnly } = tool;
    const lane = { tenant: '-', session: SYSTEM_SESSION, lane: 'sys' } as const;
    const data = { digest, definition: { ...definition, name, readOnly, visibleIn: ['normal' as const] } };
    const appended = await append(house.bus, writer, lane, tail, { type: 'tool.registered', data });
    if (!appended.ok) throw new Error('conflict');
    tail = appended.tail;
  }
}

async function opened(): Promise<Cast> {
  const cast = new Cast(house);
  await cast.open();
  return cast;
}

describe('a turn', () => {
  test('from a message to the end of its run', async () => {
    const cast = await opened();
    await cast.ask();
    const request = await cast.request(1);
    await cast.call('a', 'b');
    await Promise.all(['a', 'b'].map((intent) => cast.run(intent)));
    await cast.request(2);
    await cast.answer([{ type: 'text', text: 'Done.' }], 'end_turn', { costUsd: 0.25 });
    const state = await cast.when(({ status }) => status === 'completed');
    expect(state.lastRun).toMatchObject({ id: expect.any(String), number: 1, reason: 'completed' });

    const [first] = await cast.all('model.requested');
    expect(first?.data).toMatchObject({
      projection: PROJECTION,
      because: 'next_turn',
      tools: [READ_FILE, WRITE_FILE],
      budgetLeft: { turns: null, tokens: null, costUsd: null },
    });
    expect(request.contextSnapshotId).toBe(first?.data.contextSnapshotId);
    const [finished] = await cast.all('run.finished');
    expect(finished?.data).toMatchObject({
      turns: 2,
      costUsd: 0.25,
      usage: { inputUncached: 200, output: 60 },
    });
    expect(await cast.all('tool.observation')).toHaveLength(2);
    await cast.verify();
  });

  test('each request names the context that a gateway folds', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.call('a');
    await cast.run('a');
    await cast.request(2);
    for (const { data } of await cast.all('model.requested')) {
      const state = await cast.state();
      const context = projectContext(state, { throughSeq: data.throughSeq, tools: data.tools });
      expect(contextSnapshotId(context)).toBe(data.contextSnapshotId);
    }
  });

  test('every way to end makes an observation', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.call('invalid', 'denied', 'refused', 'failed');
    await cast.take('invalid', 'invalid');
    await cast.take('denied', 'validated', 'denied');
    await cast.take('refused', 'validated', 'allowed');
    await cast.complete('refused', { outcome: 'refused', code: 'stale_baseline', claimSeq: null });
    await cast.take('failed', 'validated', 'allowed', 'started');
    await cast.complete('failed', { outcome: 'failed', code: 'exit_code', exitCode: 3 });
    const state = await cast.when(({ request }) => request?.turn === 2);
    for (const intent of ['invalid', 'denied', 'refused', 'failed']) {
      expect(callOf(state, intent)?.observation).toMatchObject({ ending: intent, isError: true });
    }
    await cast.verify();
  });

  test('goes on after a pause and a compaction, its number unchanged', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.answer([{ type: 'text', text: 'wait' }], 'pause');
    await until(async () => (await cast.all('model.requested')).length === 2);
    await cast.answer([{ type: 'text', text: 'so far' }], 'compaction');
    await until(async () => (await cast.all('model.requested')).length === 3);
    await cast.call('a');
    await cast.run('a');
    await cast.request(2);
    await cast.answer([{ type: 'text', text: 'Done.' }]);
    await cast.when(({ status }) => status === 'completed');
    const requests = await cast.all('model.requested');
    expect(requests.map(({ data, envelope }) => [data.because, envelope.turn])).toEqual([
      ['next_turn', 1],
      ['pause', 1],
      ['compaction', 1],
      ['next_turn', 2],
    ]);
    await cast.verify();
  });

  test('that is cut off twice in a row ends the run', async () => {
    const cast = await opened();
    await cast.ask();
    for (const turn of [1, 2]) {
      await cast.request(turn);
      const call = {
        type: 'rejected_call',
        intent: `cut-${turn}`,
        tool: 'bash',
        raw: '{',
        why: 'max_tokens',
        providerRef: 'r',
      } as const;
      await cast.answer([call], 'max_tokens');
    }
    await cast.when(({ lastRun }) => lastRun?.reason === 'length');
    await cast.verify();
  });

  test('that fails ends the run with the reason', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.request();
    await cast.add('model.failed', sample('model.failed', { category: 'auth', message: 'no key' }));
    await cast.when(({ lastRun }) => lastRun?.reason === 'model_failed');
    expect((await cast.all('run.finished'))[0]?.data.detail).toBe('auth: no key');
  });

  test('stops at the budget of turns', async () => {
    const cast = new Cast(house);
    await cast.open({ budgets: { maxTurns: 1 } });
    await cast.ask();
    await cast.call('a');
    await cast.run('a');
    await cast.when(({ lastRun }) => lastRun?.reason === 'max_turns');
  });
});

describe('two observers at once', () => {
  test('the last observations of a turn lead to one request', async () => {
    const casts = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const cast = await opened();
        await cast.ask();
        await cast.call('a', 'b', 'c');
        for (const intent of ['a', 'b', 'c']) await cast.take(intent, 'validated', 'allowed', 'started');
        return cast;
      }),
    );
    await Promise.all(casts.flatMap((cast) => ['a', 'b', 'c'].map((intent) => cast.complete(intent))));
    for (const cast of casts) {
      await cast.request(2);
      await cast.answer([{ type: 'text', text: 'Done.' }]);
      await cast.when(({ run }) => run === null);
      const turns = (await cast.all('model.requested')).map(({ envelope }) => envelope.turn);
      expect(turns).toEqual([1, 2]);
      expect(await cast.all('tool.observation')).toHaveLength(3);
      await cast.verify();
    }
  });
});

describe('a message of a person', () => {
  test('during a turn is taken by the next one', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.call('a');
    const seq = await cast.ask('and this');
    await cast.run('a');
    const { throughSeq } = await cast.request(2);
    expect(throughSeq).toBeGreaterThanOrEqual(seq);
    expect((await cast.state()).pending).toEqual([]);
    expect(await cast.all('run.started')).toHaveLength(1);
  });

  test('that comes with the last answer starts the next run, however they cross', async () => {
    for (let round = 0; round < 6; round++) {
      const cast = await opened();
      await cast.ask();
      await cast.request();
      await cast.add('model.attempt.started', sample('model.attempt.started'));
      await Promise.all([cast.add('model.message', sample('model.message')), cast.ask('one more thing')]);
      await cast.when(({ run, request }) => run?.number === 2 && request !== null);
      expect((await cast.state()).pending).toEqual([]);
      await cast.verify();
    }
  });

  test('in a session that was never opened is nothing', async () => {
    const silent = new Cast(house);
    await silent.ask();
    const cast = await opened();
    await cast.ask();
    await cast.request();
    expect(await silent.types()).toEqual(['user.message']);
  });
});

describe('an edited call', () => {
  test('is observed with the result of the call in its place, and no sooner', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.call('a', 'b');
    await cast.take('a', 'validated', 'asked');
    await cast.edit('a', 'a2');
    await cast.run('b');
    await cast.when((state) => callOf(state, 'b')?.stage === 'observed');
    expect(callOf(await cast.state(), 'a')?.stage).toBe('denied');
    await cast.take('a2', 'validated', 'allowed', 'started');
    await cast.complete('a2', { output: [{ channel: 'content', text: 'other', omittedBytes: 0 }] });
    const state = await cast.when(({ request }) => request?.turn === 2);
    expect(callOf(state, 'a')?.observation?.parts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ label: 'fact', text: expect.stringContaining('ada edited this call') }),
        { label: 'fact', text: 'Edited input: {"path":"OTHER.md"}' },
        { label: 'untrusted', text: 'other' },
      ]),
    );
    expect((await cast.all('tool.observation')).find(({ data }) => data.insteadOf)?.data.insteadOf).toBe(
      'a2',
    );
    await cast.verify();
  });
});

describe('output', () => {
  test('that does not fit is stored before it is named', async () => {
    const cast = await opened();
    await cast.ask();
    await cast.call('a');
    await cast.take('a', 'validated', 'allowed', 'started');
    const text = 'é'.repeat(20_000);
    await cast.complete('a', { output: [{ channel: 'stdout', text, omittedBytes: 0 }] });
    await cast.request(2);
    const [observation] = await cast.all('tool.observation');
    const [uri = ''] = observation?.data.artifacts ?? [];
    expect(Buffer.from(await getArtifact(house.bus, 'local', uri)).toString()).toBe(text);
    const shown = observation?.data.parts
      .filter(({ label }) => label === 'untrusted')
      .map((part) => part.text);
    expect(observation?.data.omittedBytes).toBe(40_000 - Buffer.byteLength(shown?.join('') ?? ''));
  });
});

test('all deliveries made again change nothing', async () => {
  const cast = await opened();
  await cast.ask();
  await cast.call('a', 'b');
  await Promise.all([cast.run('a'), cast.run('b')]);
  await cast.request(2);
  await cast.answer([{ type: 'text', text: 'Done.' }]);
  await cast.when(({ status }) => status === 'completed');
  const before = await cast.types();
  await house.rewind(DURABLES.observer);
  // A session behind all that is delivered again: when it moves, the others have been looked at.
  const last = await opened();
  await last.ask();
  await last.request();
  expect(await cast.types()).toEqual(before);
  await cast.verify();
});

test('a call whose lane holds a stray is observed behind it', async () => {
  const cast = await opened();
  await cast.ask();
  await cast.answer([toolCall('a')]);
  await cast.take('a', 'proposed', 'validated', 'validated', 'allowed', 'started', 'started', 'completed');
  const state = await cast.when(({ request }) => request?.turn === 2);
  expect(state.skipped).toBe(2);
  expect(callOf(state, 'a')?.observation?.ending).toBe('success');
});
