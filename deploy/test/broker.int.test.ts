// The table of rights at a real server: what each user may do works, what it may not do is refused by the server.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BUCKETS,
  DURABLES,
  type Durable,
  executorDurable,
  executorKey,
  leaseKey,
  rpcSubject,
  timerSubject,
} from '@interlock/contracts';
import {
  eventStoreConfigSchema,
  provision,
  startEventStore,
  topologyFor,
  topologyOptionsOf,
} from '@interlock/event-store';
import {
  ack,
  append,
  appendInbox,
  type Bus,
  callRpc,
  connectBus,
  createLogger,
  EMPTY_LANE,
  ensureKeys,
  getArtifact,
  getKey,
  type HousedService,
  type LoadedKeys,
  putArtifact,
  putWithTtl,
  readLast,
  readRange,
  runConsumer,
  serveRpc,
  setTimer,
  startInProcess,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NatsHandle, startNats } from '../../test/harness/nats.ts';
import { renderAccess } from '../src/nats-config.ts';
import { ensureUserKeys, type UserKey } from '../src/nkeys.ts';
import { brokerUsers } from '../src/permissions.ts';

const logger = createLogger({ service: 'test', instance: 'test', level: 'silent' });
const USERS = brokerUsers({ pools: ['fs', 'shell'], engines: ['cedar'] });

let dir: string;
let nats: NatsHandle;
let userKeys: Map<string, UserKey>;
let keys: LoadedKeys;
let store: HousedService;
const buses = new Map<string, Bus>();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'interlock-broker-'));
  userKeys = await ensureUserKeys(
    join(dir, 'nkeys'),
    USERS.map(({ name }) => name),
  );
  keys = await ensureKeys(join(dir, 'keys'), ['policy-engine', 'observer', 'executor-fs', 'executor-shell']);
  nats = await startNats({
    config: renderAccess(USERS.map((user) => ({ ...user, nkey: keyOf(user.name).publicKey }))),
  });
  store = await startInProcess('event-store', startEventStore, {
    url: nats.url,
    keysDir: join(dir, 'keys'),
    logger,
    env: { INTERLOCK_ANALYTICS: '1' },
    nkeySeed: await seedOf('event-store'),
  });
});
afterAll(async () => {
  await store?.stop();
  await Promise.all([...buses.values()].map((bus) => bus.nc.close()));
  await nats?.stop();
  await rm(dir, { recursive: true, force: true });
});

function keyOf(name: string): UserKey {
  const key = userKeys.get(name);
  if (!key) throw new Error(`no user ${name}`);
  return key;
}
const seedOf = async (name: string): Promise<string> => (await readFile(keyOf(name).seedFile, 'utf8')).trim();

/** The connection of a user, with the inbox the kit gives it. */
async function as(name: string): Promise<Bus> {
  const known = buses.get(name);
  if (known) return known;
  const bus = await connectBus({ url: nats.url, name: `${name}/1`, nkeySeed: await seedOf(name), logger });
  buses.set(name, bus);
  return bus;
}

const writer = (name: string): Writer => ({
  service: name,
  instance: '1',
  signer: keys.signers.get(name),
  clock: systemClock,
  ids: systemIds,
});

/** What becomes of a message: an answer, nobody there, or the server's no. */
async function publish(name: string, subject: string): Promise<'taken' | 'refused'> {
  const bus = await as(name);
  try {
    await bus.request(subject, '{}', { timeoutMs: 3000 });
    return 'taken';
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'PermissionViolationError') return 'refused';
    if (/responders/i.test(`${error.message} ${error.cause}`)) return 'taken';
    throw error;
  }
}

async function subscribe(name: string, subject: string): Promise<'taken' | 'refused'> {
  const bus = await as(name);
  const refused = Promise.withResolvers<'refused'>();
  const subscription = bus.nc.subscribe(subject, {
    callback: (error) => {
      if (error) refused.resolve('refused');
    },
  });
  // The server answers a ping after it has judged the subscription.
  const outcome = await Promise.race([refused.promise, bus.nc.rtt().then(() => 'taken' as const)]);
  subscription.unsubscribe();
  return outcome;
}

const EV = 'ev.v1.local.s1';
const I = `${EV}.i.i1`;

/** User, what it must not do. */
const FORBIDDEN: readonly (readonly [user: string, ...subjects: string[]])[] = [
  [
    'provider-gateway',
    `${I}.tool.approval.allowed.fs`,
    `${I}.tool.validated`,
    `${EV}.s.run.started`,
    `${EV}.u.user.message`,
    `${I}.tool.execution.completed.fs`,
    'ev.v1.local.sys.tool.registered',
    'timer.v1.at.watch.local.s1.s1',
    '$KV.lease.fs.i1',
    'ctl.v1.local.s1.cancel',
    '$JS.API.CONSUMER.MSG.NEXT.EV.observer',
  ],
  [
    'validator',
    `${I}.tool.approval.allowed.fs`,
    `${I}.tool.intent`,
    `${EV}.s.model.message`,
    '$JS.API.CONSUMER.MSG.NEXT.EV.policy-engine',
    'rpc.v1.-.register.fs',
    'live.v1.local.s1.text.x',
  ],
  [
    'policy-engine',
    `${I}.tool.validated`,
    `${I}.tool.execution.started.fs`,
    `${I}.tool.observation`,
    `${EV}.s.run.started`,
    'ev.v1.local.sys.tool.registered',
    'timer.v1.at.watch.local.s1.s1',
    'timer.v1.due.policy-engine.approval.local.s1.i1',
  ],
  [
    'observer',
    `${I}.tool.approval.allowed.fs`,
    `${I}.tool.execution.started.fs`,
    `${EV}.s.model.message`,
    `${EV}.u.user.message`,
    `${EV}.u.tool.answer`,
    '$KV.lease.fs.i1',
  ],
  [
    'executor-fs',
    `${I}.tool.execution.completed.shell`,
    `${I}.tool.execution.started.shell`,
    `${I}.tool.approval.allowed.fs`,
    `${I}.tool.observation`,
    `${EV}.s.run.started`,
    `${EV}.u.tool.answer`,
    'ev.v1.local.sys.tool.registered',
    '$JS.API.STREAM.MSG.GET.EV',
    '$JS.API.DIRECT.GET.EV',
    '$JS.API.CONSUMER.MSG.NEXT.EV.executor-shell',
    '$JS.API.CONSUMER.MSG.NEXT.EV.observer',
    '$KV.lease.shell.i1',
    '$KV.registry.executor.shell.x',
    'rpc.v1.-.register.shell',
    'rpc.v1.local.query.events',
    '_I.client.x',
    'live.v1.local.s1.text.x',
  ],
  [
    'client',
    `${EV}.s.run.started`,
    `${EV}.s.model.message`,
    `${I}.tool.intent`,
    `${I}.tool.approval.allowed.fs`,
    'ev.v1.local.sys.grant.given',
    '$JS.API.STREAM.MSG.GET.EV',
    '$JS.API.DIRECT.GET.EV',
    'rpc.v1.local.register.fs',
    'rpc.v1.local.preflight.fs',
    'timer.v1.at.deadline.local.s1.x',
    'live.v1.local.s1.text.x',
    'ctl.v1.local.s1.cancel',
  ],
  [
    'engine-cedar',
    `${I}.tool.approval.allowed.fs`,
    'rpc.v1.local.query.events',
    '$JS.API.STREAM.MSG.GET.EV',
    '_I.client.x',
  ],
  [
    'operator',
    `${EV}.u.user.message`,
    '$JS.API.STREAM.MSG.GET.EV',
    '$JS.API.STREAM.UPDATE.EV',
    '$JS.API.STREAM.PURGE.EV',
  ],
  [
    'analytics',
    `${EV}.u.user.message`,
    '$JS.API.STREAM.MSG.GET.EV',
    '$JS.API.CONSUMER.MSG.NEXT.EV.observer',
    '$JS.ACK.EV.observer.1.1.1.1.1',
    'rpc.v1.local.query.events',
    'blob.v1.local.x.0',
  ],
  [
    'event-store',
    `${I}.tool.approval.allowed.fs`,
    `${EV}.u.user.message`,
    `${EV}.s.run.started`,
    'ev.v1.local.sys.grant.given',
    '$KV.lease.fs.i1',
  ],
];

describe('refused by the server', () => {
  test.each(FORBIDDEN.flatMap(([user, ...subjects]) => subjects.map((subject) => [user, subject] as const)))(
    '%s publishes %s',
    async (user, subject) => {
      expect(await publish(user, subject)).toBe('refused');
    },
  );

  test.each(USERS.map(({ name }) => name).filter((name) => name !== 'event-store'))(
    '%s makes or changes streams and consumers',
    async (user) => {
      const calls = [
        'STREAM.CREATE.X',
        'STREAM.UPDATE.EV',
        'STREAM.DELETE.EV',
        'CONSUMER.CREATE.EV',
        'CONSUMER.CREATE.EV.x',
        'CONSUMER.CREATE.EV.x.ev.v1.>',
        'CONSUMER.DURABLE.CREATE.EV.x',
        'CONSUMER.DELETE.EV.observer',
      ];
      for (const call of calls)
        expect(`${call} ${await publish(user, `$JS.API.${call}`)}`).toBe(`${call} refused`);
    },
  );

  test('nobody hears what is not for them', async () => {
    for (const { name } of USERS) {
      for (const subject of [
        '>',
        'ev.v1.>',
        '_I.>',
        '_INBOX.>',
        '$JS.API.>',
        '$KV.>',
        'blob.v1.>',
        'rpc.v1.*.preflight.*',
        `_I.${name === 'observer' ? 'client' : 'observer'}.>`,
      ])
        expect(`${name} ${subject} ${await subscribe(name, subject)}`).toBe(`${name} ${subject} refused`);
    }
    expect(await subscribe('executor-fs', rpcSubject.preflight('*', 'shell'))).toBe('refused');
    expect(await subscribe('executor-fs', 'tail.v1.>')).toBe('refused');
    expect(await subscribe('client', rpcSubject.query('*', 'events'))).toBe('refused');
    expect(await subscribe('validator', 'rpc.v1.policy.evaluate.*')).toBe('refused');
  });

  test('one without a key, and one with a key nobody knows', async () => {
    const connect = (nkeySeed?: string) =>
      connectBus({ url: nats.url, name: 'client/1', nkeySeed, logger, connectTimeoutMs: 1000 });
    await expect(connect()).rejects.toThrow();
    const stranger = await ensureUserKeys(join(dir, 'strangers'), ['client']);
    const seed = (await readFile(stranger.get('client')?.seedFile ?? '', 'utf8')).trim();
    await expect(connect(seed)).rejects.toThrow();
  });
});

describe('what the kit does works under these rights', () => {
  const lane = (session: string, intent?: string) =>
    ({ tenant: 'local', session, lane: intent ? 'i' : 's', intent }) as const;

  test.each([
    ['provider-gateway', DURABLES['provider-gateway']],
    ['validator', DURABLES.validator],
    ['policy-engine', DURABLES['policy-engine']],
    ['policy-engine', DURABLES['policy-engine-timers']],
    ['observer', DURABLES.observer],
    ['observer', DURABLES['observer-timers']],
    ['executor-fs', executorDurable('fs')],
    ['analytics', { name: 'analytics', stream: 'EV', filters: [] }],
  ] as const satisfies readonly (readonly [string, Durable])[])(
    '%s binds to its durable %o',
    async (user, durable) => {
      const consumer = runConsumer(await as(user), { durable, handle: async () => ack });
      await expect.poll(() => consumer.bound()).toBe(true);
      await consumer.stop();
    },
  );

  test('a delivery is taken and acknowledged', async () => {
    const client = await as('client');
    const draft = { type: 'session.closed', data: { reason: 'x' } } as const;
    const { seq } = await appendInbox(
      client,
      writer('client'),
      { tenant: 'local', session: 's-deliver' },
      draft,
    );
    const seen = Promise.withResolvers<number>();
    const consumer = runConsumer(await as('observer'), {
      durable: DURABLES.observer,
      handle: async (delivery) => {
        if (delivery.seq === seq) seen.resolve(seq);
        return ack;
      },
    });
    expect(await seen.promise).toBe(seq);
    await consumer.stop();
    const info = await (await as('operator')).request('$JS.API.CONSUMER.INFO.EV.observer', '', {
      timeoutMs: 2000,
    });
    expect(info.json()).toMatchObject({ num_ack_pending: 0 });
  });

  test('appends by comparison, the reading back after a conflict, and reads at the leader', async () => {
    const observer = await as('observer');
    const draft = { type: 'run.started', data: { number: 1 }, run: 'r1' } as const;
    const first = await append(observer, writer('observer'), lane('s-append'), EMPTY_LANE, draft);
    expect(first.ok).toBe(true);
    expect(await append(observer, writer('observer'), lane('s-append'), EMPTY_LANE, draft)).toEqual({
      ok: false,
    });
    const filter = 'ev.v1.local.s-append.>';
    for (const user of ['provider-gateway', 'validator', 'policy-engine', 'observer', 'event-store']) {
      const bus = await as(user);
      expect(await readRange(bus, { filter, fromSeq: 1, leader: true })).toHaveLength(1);
      expect((await readLast(bus, filter))?.type).toBe('run.started');
    }
  });

  test('artifacts, by everyone who may', async () => {
    for (const user of [
      'provider-gateway',
      'validator',
      'policy-engine',
      'observer',
      'executor-fs',
      'client',
      'event-store',
    ]) {
      const bus = await as(user);
      const ref = await putArtifact(bus, 'local', `by ${user} ${'x'.repeat(600_000)}`, {
        mediaType: 'text/plain',
      });
      expect(Buffer.from(await getArtifact(bus, 'local', ref.uri)).toString()).toContain(`by ${user}`);
      await expect(getArtifact(bus, 'local', `artifact://${'0'.repeat(64)}`)).rejects.toMatchObject({
        code: 'artifact_unavailable',
      });
    }
  });

  test('timers, leases, presence', async () => {
    const timer = { kind: 'watch', tenant: 'local', session: 's1', id: 's1' } as const;
    await setTimer(await as('observer'), timer, new Date(Date.now() + 3_600_000));
    const approval = { kind: 'approval', tenant: 'local', session: 's1', id: 'a1' } as const;
    await setTimer(await as('policy-engine'), approval, new Date(Date.now() + 3_600_000));
    expect(timerSubject.schedule(timer)).toBe('timer.v1.at.watch.local.s1.s1');

    const fs = await as('executor-fs');
    await putWithTtl(fs, BUCKETS.leases, leaseKey('fs', 'i1'), 'w1', 30_000);
    await putWithTtl(fs, BUCKETS.registry, executorKey('fs', 'one'), '{"sandboxLevel":"A"}', 30_000);
    for (const user of ['executor-fs', 'observer'])
      expect((await getKey(await as(user), BUCKETS.leases, leaseKey('fs', 'i1')))?.value).toBe('w1');
    expect(await getKey(await as('observer'), BUCKETS.leases, leaseKey('fs', 'none'))).toBeNull();
  });

  test('calls and their answers', async () => {
    const refuse = { ok: false, code: 'internal', message: 'served' } as const;
    const fs = await as('executor-fs');
    const cedar = await as('engine-cedar');
    const serving = [
      serveRpc(fs, {
        subject: rpcSubject.preflight('*', 'fs'),
        queue: 'fs',
        rpc: 'preflight',
        handle: async () => refuse,
      }),
      serveRpc(cedar, {
        subject: rpcSubject.evaluate('cedar'),
        queue: 'cedar',
        rpc: 'policy.evaluate',
        handle: async () => refuse,
      }),
    ];
    await Promise.all([fs.nc.flush(), cedar.nc.flush()]);
    // The requests fit no schema: that they are answered is what counts.
    const ask = async (user: string, subject: string): Promise<unknown> =>
      (await (await as(user)).request(subject, '{}', { timeoutMs: 3000 })).json();
    for (const user of ['validator', 'policy-engine'])
      expect(await ask(user, rpcSubject.preflight('local', 'fs'))).toMatchObject({ code: 'query_invalid' });
    expect(await ask('policy-engine', rpcSubject.evaluate('cedar'))).toMatchObject({ code: 'query_invalid' });
    expect(await ask('executor-fs', rpcSubject.register('-', 'fs'))).toMatchObject({ code: 'query_invalid' });
    expect(await ask('executor-fs', rpcSubject.query('local', 'lane'))).toMatchObject({
      code: 'query_invalid',
    });
    for (const user of ['client', 'operator'])
      expect(await ask(user, rpcSubject.query('local', 'events'))).toMatchObject({ code: 'query_invalid' });
    await Promise.all(serving.map((each) => each.stop()));
  });

  test('registering tools and asking for the registry', async () => {
    const request = { pool: 'fs', instance: 'one', tools: [] };
    const fs = await as('executor-fs');
    const subject = rpcSubject.register('-', 'fs');
    expect(await callRpc(fs, { subject, rpc: 'register', request, timeoutMs: 5000 })).toEqual({
      ok: true,
      digests: [],
    });
    const registry = await callRpc(await as('client'), {
      subject: rpcSubject.query('local', 'registry'),
      rpc: 'query.registry',
      request: {},
      timeoutMs: 5000,
    });
    expect(registry).toMatchObject({
      ok: true,
      executors: [{ pool: 'fs', instance: 'one', sandboxLevel: 'A' }],
    });
  });

  test('wake-ups and live text reach clients', async () => {
    const client = await as('client');
    const heard: string[] = [];
    for (const subject of ['tail.v1.>', 'live.v1.>'])
      client.nc.subscribe(subject, { callback: (_, message) => void heard.push(message.subject) });
    await client.nc.flush();
    expect(await publish('provider-gateway', 'live.v1.local.s1.text.r1')).toBe('taken');
    expect(await publish('executor-fs', 'live.v1.local.s1.output.i1')).toBe('taken');
    const draft = { type: 'session.closed', data: { reason: 'x' } } as const;
    await appendInbox(client, writer('client'), { tenant: 'local', session: 's-tail' }, draft);
    await expect
      .poll(() => heard)
      .toEqual(
        expect.arrayContaining([
          'live.v1.local.s1.text.r1',
          'live.v1.local.s1.output.i1',
          'tail.v1.local.s-tail.u.session.closed',
        ]),
      );
  });

  test('a cancel reaches pools and the gateway', async () => {
    const heard: string[] = [];
    const listeners = ['provider-gateway', 'executor-fs', 'executor-shell'];
    for (const user of listeners) {
      const { nc } = await as(user);
      nc.subscribe('ctl.v1.*.*.cancel', { callback: () => void heard.push(user) });
      await nc.flush();
    }
    (await as('observer')).nc.publish('ctl.v1.local.s1.cancel', '{}');
    await expect.poll(() => heard.toSorted()).toEqual(listeners.toSorted());
  });

  test('the operator sees how all is set, and that it is as wanted', async () => {
    const bus = await as('operator');
    const options = topologyOptionsOf(eventStoreConfigSchema.parse({ analytics: '1' }));
    const report = await provision(bus, (actual) => topologyFor(options, actual), { mode: 'check' });
    expect(report.drift).toEqual([]);
  });

  test('the event-store is ready under its own rights', async () => {
    await expect.poll(() => store.ready()).toBe(true);
  });
});
