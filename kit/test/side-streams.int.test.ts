import {
  BUCKETS,
  DURABLES,
  executorKey,
  leaseKey,
  parseTimerSubject,
  type TimerAddress,
} from '@interlock/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ack,
  type Bus,
  deleteKey,
  getKey,
  listEntries,
  listKeys,
  putWithTtl,
  runConsumer,
  setTimer,
} from '../src/index.ts';
import { type House, newSession, provisionDurable, startHouse, until } from './house.ts';

let house: House;
let bus: Bus;

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
});
afterAll(() => house.stop());

describe('timers', () => {
  test('come to their owner, at their time or at once', async () => {
    const due: { address: TimerAddress | null; lateMs: number }[] = [];
    await provisionDurable(bus, DURABLES['observer-timers']);
    const consumer = runConsumer(bus, {
      durable: DURABLES['observer-timers'],
      handle: async (delivery) => {
        const { at } = JSON.parse(Buffer.from(delivery.message.data).toString()) as { at: string };
        due.push({ address: parseTimerSubject(delivery.subject), lateMs: Date.now() - Date.parse(at) });
        expect(delivery.entry).toMatchObject({ type: 'unreadable', subject: delivery.subject });
        return ack;
      },
    });
    const session = newSession();
    const watch: TimerAddress = { kind: 'watch', tenant: 'local', session, id: 'turn1' };
    const deadline: TimerAddress = { kind: 'deadline', tenant: 'local', session, id: 'run1' };
    const approval: TimerAddress = { kind: 'approval', tenant: 'local', session, id: 'ask1' };
    await setTimer(bus, watch, new Date(Date.now() + 400));
    await setTimer(bus, deadline, new Date(Date.now() - 60_000));
    await setTimer(bus, approval, new Date(Date.now() - 1000));
    await until(() => due.length === 2);
    await consumer.stop();
    expect(due.map(({ address }) => address)).toEqual([deadline, watch]);
    expect(due[1]?.lateMs).toBeGreaterThanOrEqual(0);
    expect(due[1]?.lateMs).toBeLessThan(2000);
  });

  test('are replaced by a later one of the same thing only', async () => {
    const due: string[] = [];
    const session = newSession();
    const consumer = runConsumer(bus, {
      durable: DURABLES['observer-timers'],
      handle: async (delivery) => {
        due.push(parseTimerSubject(delivery.subject)?.id ?? '');
        return ack;
      },
    });
    const timer = (id: string): TimerAddress => ({ kind: 'watch', tenant: 'local', session, id });
    await setTimer(bus, timer('a'), new Date(Date.now() + 300));
    await setTimer(bus, timer('a'), new Date(Date.now() + 1200));
    await setTimer(bus, timer('b'), new Date(Date.now() + 600));
    await until(() => due.length === 2);
    await consumer.stop();
    expect(due).toEqual(['b', 'a']);
  });
});

describe('buckets', () => {
  test('hold entries until they expire', async () => {
    const key = leaseKey('fs', 'i1');
    expect(await getKey(bus, BUCKETS.leases, key)).toBeNull();
    const first = await putWithTtl(bus, BUCKETS.leases, key, 'worker 1', 1000);
    expect(await getKey(bus, BUCKETS.leases, key)).toEqual({ value: 'worker 1', revision: first });
    const second = await putWithTtl(bus, BUCKETS.leases, key, 'worker 2', 1500);
    expect(second).toBeGreaterThan(first);
    await until(async () => (await getKey(bus, BUCKETS.leases, key)) === null, 6000);
  });

  test('are listed by prefix, without what was deleted', async () => {
    for (const [pool, instance] of [
      ['fs', 'a'],
      ['fs', 'b'],
      ['fs2', 'c'],
      ['shell', 'd'],
    ] as const) {
      await putWithTtl(bus, BUCKETS.registry, executorKey(pool, instance), `${pool}/${instance}`, 60_000);
    }
    expect(await listKeys(bus, BUCKETS.registry, 'executor.fs')).toEqual(['executor.fs.a', 'executor.fs.b']);
    await deleteKey(bus, BUCKETS.registry, executorKey('fs', 'a'));
    expect(await getKey(bus, BUCKETS.registry, executorKey('fs', 'a'))).toBeNull();
    expect(await listEntries(bus, BUCKETS.registry, 'executor')).toMatchObject([
      { key: 'executor.fs.b', value: 'fs/b' },
      { key: 'executor.fs2.c', value: 'fs2/c' },
      { key: 'executor.shell.d', value: 'shell/d' },
    ]);
    expect(await listKeys(bus, BUCKETS.registry, '')).toHaveLength(3);
    expect(await listKeys(bus, BUCKETS.registry, 'nobody')).toEqual([]);
  });
});
