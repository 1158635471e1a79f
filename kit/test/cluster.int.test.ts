import { EMPTY_LANE, laneFilter, STREAMS } from '@interlock/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ack,
  append,
  appendAtomic,
  appendSettled,
  type Bus,
  FoldCache,
  putArtifact,
  readRange,
  runConsumer,
  setTimer,
} from '../src/index.ts';
import { intent, retrying } from './drafts.ts';
import {
  filterOf,
  type House,
  intentLane,
  journal,
  newSession,
  provisionDurable,
  startHouse,
  until,
  writerOf,
} from './house.ts';

let house: House;
let buses: Bus[];
const gateway = writerOf('provider-gateway');

beforeAll(async () => {
  house = await startHouse({ nodes: 3 });
  // One connection to each node, so that followers answer too.
  buses = await Promise.all(house.nats.urls.map((url) => house.bus('test', { url })));
}, 90_000);
afterAll(() => house.stop());

const on = (n: number): Bus => buses[n % buses.length] as Bus;

test('exactly one of 60 racers wins, and the losers know', { timeout: 60_000 }, async () => {
  for (let round = 0; round < 3; round++) {
    const lane = journal(newSession());
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, racer) =>
        append(on(racer), gateway, lane, EMPTY_LANE, retrying(`${racer}`)),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await readRange(on(round), { filter: laneFilter(lane), fromSeq: 1, leader: true })).toHaveLength(
      1,
    );
  }
});

test('exactly one of 20 atomic racers wins', { timeout: 60_000 }, async () => {
  const session = newSession();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, racer) =>
      appendAtomic(on(racer), gateway, [
        { lane: intentLane(session, 'a'), tail: EMPTY_LANE, draft: intent({ racer }) },
        { lane: intentLane(session, 'b'), tail: EMPTY_LANE, draft: intent({ racer }) },
      ]),
    ),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  expect(await readRange(on(0), { filter: filterOf(session), fromSeq: 1, leader: true })).toHaveLength(2);
});

test('a reader on any node sees through the sequence it was told of', { timeout: 60_000 }, async () => {
  const session = newSession();
  const lane = journal(session);
  let tail = EMPTY_LANE;
  const seqs: number[] = [];
  for (let n = 0; n < 60; n++) {
    const result = await append(on(n), gateway, lane, tail, retrying(`${n}`));
    if (!result.ok) throw new Error('conflict');
    tail = result.tail;
    seqs.push(tail.seq);
    const read = await Promise.all(
      buses.map((bus) => readRange(bus, { filter: laneFilter(lane), fromSeq: 1, throughSeq: tail.seq })),
    );
    for (const entries of read) expect(entries.map(({ seq }) => seq)).toEqual(seqs);
  }
});

test('writers that decide again end with a whole lane', { timeout: 60_000 }, async () => {
  const lane = journal(newSession());
  const results = await Promise.all(
    Array.from({ length: 9 }, (_, racer) =>
      appendSettled(on(racer), gateway, lane, (entries) =>
        entries.length >= 4 ? { stop: 'enough' } : { draft: retrying(`${racer}`) },
      ),
    ),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(4);
});

test('what is stored apart is found on any node', { timeout: 60_000 }, async () => {
  const lane = intentLane(newSession(), 'i1');
  const rawInput = { content: 'x'.repeat(1_000_000) };
  const result = await append(on(0), gateway, lane, EMPTY_LANE, intent(rawInput));
  if (!result.ok) throw new Error('conflict');
  for (const bus of buses) {
    const entries = await readRange(bus, {
      filter: laneFilter(lane),
      fromSeq: 1,
      throughSeq: result.tail.seq,
    });
    expect(entries).toMatchObject([{ data: { rawInput } }]);
  }
  await Promise.all(
    buses.map((bus) => putArtifact(bus, 'local', 'y'.repeat(600_000), { mediaType: 'text/plain' })),
  );
});

test('the loss of the leader loses nothing', { timeout: 120_000 }, async () => {
  const session = newSession();
  const lane = journal(session);
  const bus = await house.bus('survivor');
  const durable = { name: `durable-${session}`, stream: STREAMS.events, filters: [filterOf(session)] };
  await provisionDurable(bus, durable, { ackWaitMs: 2000 });
  const delivered = new Set<number>();
  const consumer = runConsumer(bus, {
    durable,
    handle: async ({ seq }) => {
      delivered.add(seq);
      return ack;
    },
  });
  const stored: number[] = [];
  let stopping = false;
  const write = async (): Promise<void> => {
    let tail = EMPTY_LANE;
    while (!stopping) {
      const result = await append(bus, gateway, lane, tail, retrying('x'.repeat(500)));
      if (!result.ok) throw new Error('a conflict with myself');
      tail = result.tail;
      stored.push(tail.seq);
    }
  };
  const writing = write();
  await until(() => stored.length > 50);
  const { streams } = await jetstreamManager(bus.nc);
  const leader = (await streams.info(STREAMS.events)).cluster?.leader ?? '';
  const node = await nodeOf(leader);
  await house.nats.kill(node);
  const before = stored.length;
  await until(() => stored.length > before + 50, 60_000);
  await setTimer(bus, { kind: 'watch', tenant: 'local', session, id: 't' }, new Date(Date.now() + 60_000));
  await house.nats.restart(node);
  stopping = true;
  await writing;
  const entries = await readRange(bus, {
    filter: laneFilter(lane),
    fromSeq: 1,
    throughSeq: stored.at(-1) ?? 0,
  });
  expect(entries.map(({ seq }) => seq)).toEqual(stored);
  await until(() => delivered.size === stored.length, 30_000);
  const cache = new FoldCache<{ throughSeq: number; count: number }>({
    bus,
    initial: () => ({ throughSeq: 0, count: 0 }),
    evolve: (state, entry) => ({ throughSeq: entry.seq, count: state.count + 1 }),
    filter: (_tenant, id) => filterOf(id),
  });
  expect((await cache.latest('local', session)).count).toBe(stored.length);
  await consumer.stop();
});

async function nodeOf(serverName: string): Promise<number> {
  for (const [index, bus] of buses.entries()) {
    if (bus.nc.info?.server_name === serverName) return index;
  }
  throw new Error(`no connection to ${serverName}`);
}
