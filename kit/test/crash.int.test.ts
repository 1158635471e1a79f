import { EMPTY_LANE, type LaneTail, laneFilter, STREAMS } from '@interlock/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { append, type Bus, readRange, setTimer } from '../src/index.ts';
import { retrying } from './drafts.ts';
import { type House, journal, newSession, startHouse, until, writerOf } from './house.ts';

let house: House;
let bus: Bus;
const gateway = writerOf('provider-gateway');

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
});
afterAll(() => house.stop());

test('appends while the server is killed and started again end right', { timeout: 60_000 }, async () => {
  const lanes = Array.from({ length: 6 }, () => journal(newSession()));
  const stored = new Map<string, LaneTail[]>(lanes.map((lane) => [lane.session, []]));
  let stopping = false;
  const write = async (lane: (typeof lanes)[number]): Promise<void> => {
    let tail = EMPTY_LANE;
    while (!stopping) {
      const result = await append(bus, gateway, lane, tail, retrying('x'.repeat(2000)));
      // Nobody else writes here: a conflict would be with my own event.
      if (!result.ok) throw new Error(`a conflict with myself after ${tail.seq}`);
      tail = result.tail;
      stored.get(lane.session)?.push(tail);
    }
  };
  const writers = lanes.map(write);
  for (let round = 0; round < 3; round++) {
    const before = [...stored.values()].flat().length;
    await until(() => [...stored.values()].flat().length > before + 100);
    await house.nats.kill();
    await house.nats.restart();
  }
  const before = [...stored.values()].flat().length;
  await until(() => [...stored.values()].flat().length > before + 100, 30_000);
  stopping = true;
  await Promise.all(writers);
  for (const lane of lanes) {
    const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
    expect(entries.map(({ seq, hash }) => ({ seq, hash }))).toEqual(stored.get(lane.session));
  }
});

test('an append that finds no server waits for it', { timeout: 60_000 }, async () => {
  const lane = journal(newSession());
  await house.nats.kill();
  await until(() => !bus.connected());
  const waiting = append(bus, gateway, lane, EMPTY_LANE, retrying('patient'));
  await house.nats.restart();
  expect(await waiting).toMatchObject({ ok: true });
  expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toHaveLength(1);
});

test('a server that is silent is asked again', { timeout: 60_000 }, async () => {
  const lane = journal(newSession());
  await house.nats.pause();
  const waiting = append(bus, gateway, lane, EMPTY_LANE, retrying('silent'));
  await new Promise((resolve) => setTimeout(resolve, 5000));
  await house.nats.resume();
  expect(await waiting).toMatchObject({ ok: true });
  expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toHaveLength(1);
});

test('a timer fires after the server was killed while it was due', { timeout: 60_000 }, async () => {
  const due: string[] = [];
  bus.nc.subscribe('timer.v1.due.>', { callback: (_error, message) => void due.push(message.subject) });
  const timer = { kind: 'watch', tenant: 'local', session: newSession(), id: 'turn1' } as const;
  await setTimer(bus, timer, new Date(Date.now() + 700));
  await house.nats.kill();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await house.nats.restart();
  await until(async () => {
    const found = await bus.request(
      `${bus.apiPrefix}.STREAM.MSG.GET.${STREAMS.timers}`,
      JSON.stringify({ last_by_subj: 'timer.v1.due.>' }),
      { timeoutMs: 2000 },
    );
    return found.json<{ error?: unknown }>().error === undefined;
  }, 30_000);
  const stored = await readTimer();
  expect(stored).toBe(`timer.v1.due.observer.watch.local.${timer.session}.turn1`);
});

async function readTimer(): Promise<string | undefined> {
  const reply = await bus.request(
    `${bus.apiPrefix}.STREAM.MSG.GET.${STREAMS.timers}`,
    JSON.stringify({ last_by_subj: 'timer.v1.due.>' }),
    { timeoutMs: 2000 },
  );
  return reply.json<{ message?: { subject: string } }>().message?.subject;
}
