import { DURABLES, STREAMS, timerSubject } from '@interlock/contracts';
import { ack, type Bus, runConsumer, setTimer } from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeDrift } from '../src/drift.ts';
import {
  eventStoreConfigSchema,
  provision,
  readActual,
  topologyFor,
  topologyOptionsOf,
} from '../src/index.ts';
import type { ProvisionMode } from '../src/provision.ts';
import { startTestHouse, type TestHouse, until } from './support.ts';

const options = (profile: 'dev' | 'ha' = 'dev') =>
  topologyOptionsOf(eventStoreConfigSchema.parse({ profile }));
const run = (bus: Bus, mode: ProvisionMode = 'repair', profile: 'dev' | 'ha' = 'dev') =>
  provision(bus, (actual) => topologyFor(options(profile), actual), { mode });
const api = async (bus: Bus, call: string, body: unknown = '') =>
  (await bus.request(`$JS.API.${call}`, body === '' ? '' : JSON.stringify(body), { timeoutMs: 5000 })).json<
    Record<string, unknown> & { config?: Record<string, unknown>; error?: unknown }
  >();
const names = (topology: { streams: readonly { name: string }[] }) =>
  topology.streams.map(({ name }) => name).sort();

describe('provisioning', () => {
  let house: TestHouse;
  beforeAll(async () => {
    house = await startTestHouse();
  });
  afterAll(() => house.stop());

  test('V2: two replicas on a new server, at once: one topology, nothing refused', async () => {
    const [one, two] = [await house.bus(), await house.bus()];
    const reports = await Promise.all([run(one), run(two), run(one), run(two)]);
    expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
    const actual = await readActual(one);
    expect(names(actual)).toEqual(['BLOB', 'DLQ', 'EV', 'KV_lease', 'KV_registry', 'LIVE', 'TM']);
    expect(actual.consumers.map(({ config }) => config.durable_name).sort()).toEqual(
      [...Object.keys(DURABLES), 'executor-fs', 'executor-shell'].sort(),
    );
  });

  test('V1: a second run changes nothing and reports nothing', async () => {
    const report = await run(await house.bus());
    expect(report).toEqual({ drift: [], created: [], repaired: [], refused: [] });
  });

  test('the server has kept deny_purge, and refuses to delete and to purge', async () => {
    const bus = await house.bus();
    const info = await api(bus, 'STREAM.INFO.EV');
    expect(info.config).toMatchObject({ deny_delete: true, deny_purge: true, discard: 'new' });
    expect((await api(bus, 'STREAM.PURGE.EV')).error).toBeDefined();
    await bus.request('ev.v1.local.gone.u.x', 'garbage', { timeoutMs: 2000 });
    expect((await api(bus, 'STREAM.MSG.DELETE.EV', { seq: 1 })).error).toBeDefined();
  });

  test('a change by hand is reported and corrected; what is not ours stays', async () => {
    const bus = await house.bus();
    const { config } = await api(bus, 'STREAM.INFO.EV');
    await api(bus, 'STREAM.UPDATE.EV', { ...config, max_bytes: 5_000_000, description: 'ours too' });
    await api(bus, 'CONSUMER.CREATE.EV.observer', {
      stream_name: 'EV',
      action: 'update',
      config: {
        durable_name: 'observer',
        ack_policy: 'explicit',
        ack_wait: 1e9,
        max_ack_pending: 5,
        num_replicas: 1,
      },
    });
    await api(bus, 'CONSUMER.CREATE.EV.spy', {
      stream_name: 'EV',
      config: { durable_name: 'spy', ack_policy: 'explicit' },
    });
    const check = await run(bus, 'check');
    expect(check.drift.map(describeDrift)).toEqual([
      'stream EV: max_bytes is 5000000, wanted 1073741824',
      'consumer EV/observer: ack_wait is 1000000000, wanted 30000000000',
      'consumer EV/observer: max_ack_pending is 5, wanted 1024',
      expect.stringContaining('consumer EV/observer: filter_subjects is unset, wanted ["'),
      'consumer EV/spy is not one of ours',
    ]);
    expect(check.repaired).toEqual([]);

    const report = await run(bus);
    expect(report.repaired).toEqual(['stream EV', 'consumer EV/observer']);
    expect((await run(bus)).drift.map(describeDrift)).toEqual(['consumer EV/spy is not one of ours']);
    expect((await api(bus, 'STREAM.INFO.EV')).config).toMatchObject({ description: 'ours too' });
    await api(bus, 'CONSUMER.DELETE.EV.spy');
  });

  test('V3: what cannot be changed in place is refused, reported each time, and nothing is deleted', async () => {
    const bus = await house.bus();
    await api(bus, 'STREAM.DELETE.LIVE');
    await api(bus, 'STREAM.CREATE.LIVE', { name: 'LIVE', subjects: ['live.v1.>'], storage: 'file' });
    const report = await run(bus);
    expect(report.drift.map(describeDrift)).toContain('stream LIVE: storage is "file", wanted "memory"');
    expect(report.refused).toEqual([{ object: 'stream LIVE', why: expect.stringContaining('storage') }]);
    await api(bus, 'STREAM.DELETE.LIVE');
    expect((await run(bus)).created).toEqual(['stream LIVE']);
  });

  test('a durable that somebody deletes is there again', async () => {
    const bus = await house.bus();
    const store = await house.eventStore({ INTERLOCK_POOLS: 'fs' });
    await until(async () => store.ready());
    await api(bus, 'CONSUMER.DELETE.EV.validator');
    await until(async () => (await api(bus, 'CONSUMER.INFO.EV.validator')).error === undefined);
    await api(bus, 'CONSUMER.DELETE.EV.event-store');
    await until(async () => (await api(bus, 'CONSUMER.INFO.EV.event-store')).error === undefined);
    await until(async () => store.ready());
    await store.stop();
  });

  test('a durable of a pool that registered by itself is no drift', async () => {
    const bus = await house.bus();
    await api(bus, 'CONSUMER.CREATE.EV.executor-mine', {
      stream_name: 'EV',
      config: { durable_name: 'executor-mine', ack_policy: 'explicit', max_ack_pending: 7 },
    });
    const report = await run(bus);
    expect(new Set(report.drift.map(({ object }) => object))).toEqual(new Set(['consumer EV/executor-mine']));
    expect(report.repaired).toEqual(['consumer EV/executor-mine']);
  });

  test('timers fire, and leave nothing behind once they are taken', async () => {
    const bus = await house.bus();
    const timer = { kind: 'watch', tenant: 'local', session: 's1', id: 's1' } as const;
    await setTimer(bus, timer, new Date());
    const fired = Promise.withResolvers<string>();
    const consumer = runConsumer(bus, {
      durable: DURABLES['observer-timers'],
      handle: async ({ subject }) => {
        fired.resolve(subject);
        return ack;
      },
    });
    expect(await fired.promise).toBe(timerSubject.fired(timer));
    await consumer.stop();
    await until(async () => {
      const { state } = (await api(bus, `STREAM.INFO.${STREAMS.timers}`)) as { state?: { messages: number } };
      return state?.messages === 0;
    });
  });
});

describe('provisioning a cluster of three', () => {
  let house: TestHouse;
  beforeAll(async () => {
    house = await startTestHouse({ nodes: 3 });
  }, 60_000);
  afterAll(() => house.stop());

  test('three replicas at once on a cluster that has just come up; then nothing is left to do', async () => {
    const buses = await Promise.all([house.bus(), house.bus(), house.bus()]);
    const reports = await Promise.all(buses.map((bus) => run(bus, 'repair', 'ha')));
    expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
    const [bus] = buses;
    if (!bus) throw new Error('no bus');
    expect(await run(bus, 'repair', 'ha')).toEqual({ drift: [], created: [], repaired: [], refused: [] });
    const { streams, consumers } = await readActual(bus);
    for (const { num_replicas } of [...streams, ...consumers.map(({ config }) => config)])
      expect(num_replicas).toBe(3);
  }, 60_000);
});
