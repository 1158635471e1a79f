import { EMPTY_LANE, laneFilter } from '@interlock/contracts';
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Appended,
  append,
  appendAtomic,
  appendInbox,
  appendSettled,
  appendSide,
  type Bus,
  laneTail,
  RetryableError,
  readRange,
  type Writer,
} from '../src/index.ts';
import { cancelled, completed, intent, retrying, userMessage } from './drafts.ts';
import {
  type House,
  intentLane,
  journal,
  type Keys,
  makeKeys,
  newSession,
  startHouse,
  verifierOf,
  writerOf,
} from './house.ts';

let house: House;
let bus: Bus;
let keys: Keys;
const gateway = writerOf('provider-gateway');

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
  keys = makeKeys('executor-fs', 'observer');
});
afterAll(() => house.stop());

function assertAppended(result: { ok: boolean }): asserts result is Appended {
  expect(result.ok).toBe(true);
}

describe('append', () => {
  test('chains a lane by sequence and hash', async () => {
    const lane = journal(newSession());
    const first = await append(bus, gateway, lane, EMPTY_LANE, retrying('one'));
    assertAppended(first);
    const second = await append(bus, gateway, lane, first.tail, retrying('two'));
    assertAppended(second);
    const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
    expect(entries.map(({ seq, hash }) => ({ seq, hash }))).toEqual([first.tail, second.tail]);
    expect(second.entry.envelope.prevseq).toBe(first.tail.seq);
    expect(second.entry.envelope.prevhash).toBe(first.tail.hash);
    expect(laneTail(entries)).toEqual(second.tail);
  });

  test('gives the entry that a reader decodes', async () => {
    const session = newSession();
    const lane = { ...intentLane(session, 'i1'), pool: 'fs' };
    const writer = writerOf('executor-fs', keys.signer('executor-fs'));
    const result = await append(bus, writer, lane, EMPTY_LANE, completed('fs'));
    assertAppended(result);
    const [read] = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 }, verifierOf(keys));
    expect(read).toEqual(result.entry);
    expect(result.entry.subject).toMatch(/\.tool\.execution\.completed\.fs$/);
  });

  test('lets exactly one of 50 racers win', async () => {
    const lane = journal(newSession());
    const buses = await Promise.all(Array.from({ length: 5 }, () => house.bus()));
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, racer) => {
        const mine = buses[racer % buses.length] as Bus;
        return append(mine, gateway, lane, EMPTY_LANE, retrying(`racer ${racer}`));
      }),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
    expect(entries).toHaveLength(1);
    expect(results.find(({ ok }) => ok)).toMatchObject({ entry: { hash: entries[0]?.hash } });
  });

  test('finds its own event after a lost acknowledgement', async () => {
    const lane = journal(newSession());
    // The first request reaches the server and its reply is thrown away.
    let lost = 0;
    const deaf: Bus = {
      ...bus,
      async request(subject, payload, options) {
        const reply = await bus.request(subject, payload, options);
        if (subject.startsWith('ev.') && lost++ === 0) throw new Error('the acknowledgement is lost');
        return reply;
      },
    };
    const result = await append(deaf, gateway, lane, EMPTY_LANE, retrying('once'));
    assertAppended(result);
    const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
    expect(entries.map(({ seq }) => seq)).toEqual([result.tail.seq]);
  });

  test('takes a conflict with its own earlier copy for success', async () => {
    const lane = journal(newSession());
    let doubled = false;
    const stutter: Bus = {
      ...bus,
      async request(subject, payload, options) {
        if (subject.startsWith('ev.') && !doubled) {
          doubled = true;
          await bus.request(subject, payload, options);
        }
        return bus.request(subject, payload, options);
      },
    };
    const result = await append(stutter, gateway, lane, EMPTY_LANE, retrying('twice'));
    assertAppended(result);
    expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toHaveLength(1);
  });

  test('is a conflict when the tail is ahead of the lane', async () => {
    const lane = journal(newSession());
    const tail = { seq: 999_999, hash: 'f'.repeat(64) };
    expect(await append(bus, gateway, lane, tail, retrying('ahead'))).toEqual({ ok: false });
  });

  test('does not see another lane of the session', async () => {
    const session = newSession();
    assertAppended(await append(bus, gateway, journal(session), EMPTY_LANE, retrying('journal')));
    assertAppended(await append(bus, gateway, intentLane(session, 'i1'), EMPTY_LANE, intent({})));
    assertAppended(await append(bus, gateway, intentLane(session, 'i10'), EMPTY_LANE, intent({})));
  });

  test('uses the read-back of a writer that may not read the log', async () => {
    const lane = journal(newSession());
    assertAppended(await append(bus, gateway, lane, EMPTY_LANE, retrying('first')));
    const asked: number[] = [];
    const limited: Writer = {
      ...gateway,
      readBack: async (_lane, afterSeq) => {
        asked.push(afterSeq);
        return { seq: 1, nonce: 'somebody else' };
      },
    };
    expect(await append(bus, limited, lane, EMPTY_LANE, retrying('second'))).toEqual({ ok: false });
    expect(asked).toEqual([0]);
  });

  test('refuses a draft that breaks its contract before anything is stored', async () => {
    const lane = journal(newSession());
    const bad = { ...retrying('x'), data: { attempt: 'one' } } as unknown as ReturnType<typeof retrying>;
    await expect(append(bus, gateway, lane, EMPTY_LANE, bad)).rejects.toThrow(TypeError);
    const unsigned = { ...intentLane(newSession(), 'i1'), pool: 'fs' };
    await expect(append(bus, gateway, unsigned, EMPTY_LANE, completed('fs'))).rejects.toThrow(
      /must be signed/,
    );
    await expect(append(bus, gateway, lane, EMPTY_LANE, intent({}))).rejects.toThrow(/does not belong/);
    expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toEqual([]);
  });
});

describe('a full log', () => {
  test('refuses, and says so at once', async () => {
    const { streams } = await jetstreamManager(bus.nc);
    const { config, state } = await streams.info('EV');
    const limits = { ...config, discard: DiscardPolicy.New, max_bytes: state.bytes };
    await streams.update('EV', limits);
    try {
      const full = append(bus, gateway, journal(newSession()), EMPTY_LANE, retrying('one too many'));
      await expect(full).rejects.toBeInstanceOf(RetryableError);
      await expect(full).rejects.toMatchObject({ code: 'log_full' });
    } finally {
      await streams.update('EV', { ...limits, max_bytes: -1 });
    }
  });
});

describe('inbox and side lanes', () => {
  test('are appended without comparison and keep the id over retries', async () => {
    const session = newSession();
    const client = writerOf('client');
    let lost = 0;
    const deaf: Bus = {
      ...bus,
      async request(subject, payload, options) {
        const reply = await bus.request(subject, payload, options);
        if (lost++ === 0) throw new Error('the acknowledgement is lost');
        return reply;
      },
    };
    const { id, seq } = await appendInbox(deaf, client, { tenant: 'local', session }, userMessage('hello'));
    const entries = await readRange(bus, { filter: `ev.v1.local.${session}.u.>`, fromSeq: 1 });
    expect(entries.map((entry) => entry.type !== 'unreadable' && entry.envelope.id)).toEqual([id, id]);
    expect(entries.at(-1)?.seq).toBe(seq);
    expect(entries[0]).not.toHaveProperty('envelope.prevseq');
  });

  test('hold late evidence', async () => {
    const session = newSession();
    const executor = writerOf('executor-fs', keys.signer('executor-fs'));
    const late = { intent: 'i1', why: 'fenced', fact: completed('fs').data };
    await appendSide(bus, executor, { tenant: 'local', session }, { type: 'execution.late', data: late });
    const [entry] = await readRange(
      bus,
      { filter: `ev.v1.local.${session}.x.>`, fromSeq: 1 },
      verifierOf(keys),
    );
    expect(entry).toMatchObject({ type: 'execution.late', authenticity: 'verified' });
  });
});

describe('appendAtomic', () => {
  test('stores all, each chained to its own lane', async () => {
    const session = newSession();
    const lane = intentLane(session, 'old');
    const first = await append(bus, gateway, lane, EMPTY_LANE, intent({ a: 1 }));
    assertAppended(first);
    const result = await appendAtomic(bus, gateway, [
      { lane, tail: first.tail, draft: cancelled('superseded') },
      { lane: intentLane(session, 'new'), tail: EMPTY_LANE, draft: intent({ a: 2 }) },
    ]);
    expect(result.ok).toBe(true);
    const entries = await readRange(bus, { filter: `ev.v1.local.${session}.>`, fromSeq: 1 });
    expect(entries).toEqual([expect.anything(), ...(result.ok ? result.entries.map(unchecked) : [])]);
  });

  test('stores none when one lane has moved', async () => {
    const session = newSession();
    const lane = intentLane(session, 'old');
    assertAppended(await append(bus, gateway, lane, EMPTY_LANE, intent({ a: 1 })));
    const result = await appendAtomic(bus, gateway, [
      { lane: intentLane(session, 'new'), tail: EMPTY_LANE, draft: intent({ a: 2 }) },
      { lane, tail: EMPTY_LANE, draft: cancelled('superseded') },
    ]);
    expect(result).toEqual({ ok: false });
    expect(await readRange(bus, { filter: `ev.v1.local.${session}.>`, fromSeq: 1 })).toHaveLength(1);
  });

  test('lets exactly one of 20 racers win', async () => {
    const session = newSession();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, racer) =>
        appendAtomic(bus, gateway, [
          { lane: intentLane(session, 'a'), tail: EMPTY_LANE, draft: intent({ racer }) },
          { lane: intentLane(session, 'b'), tail: EMPTY_LANE, draft: intent({ racer }) },
        ]),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await readRange(bus, { filter: `ev.v1.local.${session}.>`, fromSeq: 1 })).toHaveLength(2);
  });

  test('finds its own batch after a lost acknowledgement', async () => {
    const session = newSession();
    let lost = 0;
    const deaf: Bus = {
      ...bus,
      async request(subject, payload, options) {
        const reply = await bus.request(subject, payload, options);
        if (subject.startsWith('ev.') && lost++ === 0) throw new Error('the acknowledgement is lost');
        return reply;
      },
    };
    const result = await appendAtomic(deaf, gateway, [
      { lane: intentLane(session, 'a'), tail: EMPTY_LANE, draft: intent(1) },
      { lane: intentLane(session, 'b'), tail: EMPTY_LANE, draft: intent(2) },
    ]);
    const entries = await readRange(bus, { filter: `ev.v1.local.${session}.>`, fromSeq: 1 });
    expect(result).toEqual({
      ok: true,
      entries: entries.map((entry) => ({ ...entry, authenticity: 'verified' })),
    });
  });
});

describe('appendSettled', () => {
  test('decides again after each conflict', async () => {
    const lane = journal(newSession());
    const seen: number[] = [];
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, racer) =>
        appendSettled(bus, gateway, lane, (entries) => {
          seen.push(entries.length);
          return entries.length >= 3 ? { stop: 'enough' } : { draft: retrying(`racer ${racer}`) };
        }),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(3);
    expect(results.filter((result) => !result.ok && result.stop === 'enough')).toHaveLength(5);
    expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toHaveLength(3);
    expect(Math.max(...seen)).toBe(3);
  });
});

function unchecked(entry: object): object {
  return { ...entry, authenticity: 'unchecked' };
}
