/**
 * Handlers under repetition, in any order, in one process: two replicas of every service share the durables, deliveries
 * come again while they are still being handled (ack wait of a fraction of a second), connections are cut in the middle,
 * and at the end the whole history is delivered once more. The pure laws of the fold (parts, repeats) are in
 * contracts/src/conversation/laws.test.ts; processes that are killed, in kill.e2e.test.ts.
 */
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEventStore } from '@interlock/event-store';
import { startExecutor } from '@interlock/executors';
import {
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  loadKeys,
  type StartService,
  startInProcess,
  systemClock,
  systemIds,
} from '@interlock/kit';
import { startObserver } from '@interlock/observer';
import { startPolicyEngine } from '@interlock/policy-engine';
import { startProviderGateway } from '@interlock/provider-gateway';
import type { RuntimeContext } from '@interlock/runtime';
import { startValidator } from '@interlock/validator';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NatsHandle, startNats } from '../harness/nats.ts';
import { EFFECTS_FILE, planSession } from './plan.ts';
import { type PlayedSession, playSession } from './player.ts';
import { Random } from './random.ts';
import { verifySession } from './verify.ts';

const SEED = Number(process.env.INTERLOCK_CHAOS_SEED ?? 77);
const SESSIONS = 10;
const CRASHES = 25;
/** Shorter than many handlers take, so that most deliveries come more than once. */
const ACK_WAIT_MS = 150;

const SERVICES: readonly (readonly [name: string, start: StartService, env: Record<string, string>])[] = [
  ['event-store', startEventStore, { INTERLOCK_RECONCILE_MS: '3600000' }],
  ['provider-gateway', startProviderGateway, {}],
  ['validator', startValidator, {}],
  ['policy-engine', startPolicyEngine, {}],
  ['observer', startObserver, { INTERLOCK_WATCH_MS: '1000', INTERLOCK_LEASE_GRACE_MS: '1000' }],
  ['executor-fs', startExecutor, { INTERLOCK_POOL: 'fs', INTERLOCK_LEASE_MS: '3000' }],
  ['executor-shell', startExecutor, { INTERLOCK_POOL: 'shell', INTERLOCK_LEASE_MS: '3000' }],
];

const logger = createLogger({ service: 'test', instance: 'test', level: 'silent' });
let nats: NatsHandle;
let folder: string;
let manager: JetStreamManager;
let ada: RuntimeContext;
let bob: RuntimeContext;
const replicas: { readonly spec: (typeof SERVICES)[number]; service: HousedService }[] = [];
const played: PlayedSession[] = [];
const dying: Promise<void>[] = [];

async function start([name, begin, env]: (typeof SERVICES)[number], replica: number): Promise<HousedService> {
  const keysDir = join(folder, 'keys');
  const spool = { INTERLOCK_SPOOL_DIR: join(folder, 'spool', String(replica)) };
  const bwrap = process.env.INTERLOCK_BWRAP_BIN;
  const settings = { PATH: process.env.PATH, INTERLOCK_KEYS_DIR: keysDir, INTERLOCK_BWRAP_BIN: bwrap };
  return await startInProcess(name, begin, {
    url: nats.url,
    keysDir,
    logger,
    env: { ...settings, ...spool, ...env },
  });
}

async function client(person: string): Promise<RuntimeContext> {
  const bus = await connectBus({ url: nats.url, name: `client/${person}`, logger });
  const { signers } = await loadKeys(join(folder, 'keys'));
  const signer = signers.get(`client-${person}`);
  const writer = { service: 'client', instance: person, clock: systemClock, ids: systemIds, signer };
  return { bus, writer, tenant: 'local', person };
}

async function consumers(): Promise<readonly { stream: string; name: string }[]> {
  const found = [];
  for (const stream of ['EV', 'TM'])
    for await (const { name } of manager.consumers.list(stream)) found.push({ stream, name });
  return found;
}

/** Deliveries of the log beyond one of each event to each durable that wants it. */
async function repeats(): Promise<number> {
  const own = (await consumers()).filter(({ stream }) => stream === 'EV');
  const counts = await Promise.all(
    own.map(async ({ stream, name }) => {
      const { config, delivered } = await manager.consumers.info(stream, name);
      const filters = config.filter_subjects ?? [config.filter_subject ?? '>'];
      const wanted = await Promise.all(filters.map(stored));
      return delivered.consumer_seq - wanted.reduce((sum, count) => sum + count, 0);
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

async function stored(filter: string): Promise<number> {
  const { state } = await manager.streams.info('EV', { subjects_filter: filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

beforeAll(async () => {
  nats = await startNats();
  folder = await mkdtemp(join(tmpdir(), 'interlock-handlers-'));
  await ensureKeys(join(folder, 'keys'), [
    ...['policy-engine', 'observer', 'event-store', 'executor-fs', 'executor-shell'],
    ...['ada', 'bob'].map((person) => ({ name: `client-${person}`, role: 'client' as const, person })),
  ]);
  for (const replica of [0, 1])
    for (const spec of SERVICES) replicas.push({ spec, service: await start(spec, replica) });
  [ada, bob] = [await client('ada'), await client('bob')];
  manager = await jetstreamManager(ada.bus.nc);
  for (const { stream, name } of await consumers())
    await manager.consumers.update(stream, name, { ack_wait: ACK_WAIT_MS * 1_000_000 });
}, 60_000);

afterAll(async () => {
  await Promise.all(dying);
  await Promise.all(replicas.map(({ service }) => service.stop()));
  for (const { bus } of [ada, bob]) await bus.drain();
  for (const { workspace } of played) await rm(workspace, { recursive: true, force: true });
  await nats.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** Cuts a replica's connection wherever its handlers are, and starts another one. */
async function crash(random: Random): Promise<void> {
  // The event-store would set the ack wait right again; its deaths are in kill.e2e.test.ts.
  const index = random.pick([...replicas.keys()].filter((at) => replicas[at]?.spec[0] !== 'event-store'));
  const replica = replicas[index];
  if (!replica) return;
  await replica.service.bus.nc.close();
  // The dead are not waited for: their handlers may still be trying while the new one is at work.
  dying.push(replica.service.stop());
  replica.service = await start(replica.spec, index < SERVICES.length ? 0 : 1);
}

test(`any order, repeats and crashes leave every log sound (seed ${SEED})`, {
  timeout: 240_000,
}, async () => {
  const random = new Random(SEED);
  const plans = Array.from({ length: SESSIONS }, (_, index) => planSession(index, random.fork()));
  const crashes = (async () => {
    for (let count = 0; count < CRASHES; count += 1) {
      await sleep(random.between(0, 300));
      await crash(random);
    }
  })();
  const signal = AbortSignal.timeout(200_000);
  played.push(
    ...(await Promise.all(plans.map((plan) => playSession({ first: ada, second: bob }, plan, signal)))),
  );
  await crashes;
  const verified = [];
  for (const one of played) verified.push(await verifySession(ada, one));
  expect(verified.flatMap(({ violations }) => violations)).toEqual([]);
  expect(verified.reduce((sum, { effects }) => sum + effects, 0)).toBeGreaterThan(5);
  expect(await repeats()).toBeGreaterThan(50);
});

test('the whole history delivered once more changes nothing', { timeout: 120_000 }, async () => {
  const before = (await manager.streams.info('EV')).state;
  for (const { stream, name } of await consumers())
    if (stream === 'EV') await manager.consumers.delete(stream, name);
  // It makes what is missing, from the beginning of the log.
  const [spec] = SERVICES;
  if (!spec) throw new Error('no event-store');
  const provisioner = await start(spec, 2);
  try {
    const behind = async (): Promise<number> => {
      const all = await consumers();
      const infos = await Promise.all(all.map(({ stream, name }) => manager.consumers.info(stream, name)));
      const events = infos.filter(({ stream_name }) => stream_name === 'EV');
      if (events.length < SERVICES.length) return Number.POSITIVE_INFINITY;
      return events.reduce((sum, { num_pending, num_ack_pending }) => sum + num_pending + num_ack_pending, 0);
    };
    await expect.poll(behind, { timeout: 90_000, interval: 200 }).toBe(0);
    expect((await manager.streams.info('EV')).state.last_seq).toBe(before.last_seq);
    for (const one of played) expect((await verifySession(ada, one)).violations).toEqual([]);
  } finally {
    await provisioner.stop();
  }
});

test('a second effect would have been seen', async () => {
  const marked = await Promise.all(
    played.map(async (one) => ({ one, effects: (await verifySession(ada, one)).effects })),
  );
  const { one } = marked.find(({ effects }) => effects > 0) ?? {};
  if (!one) throw new Error('no session left a mark');
  const marks = [0, 1, 2].flatMap((turn) => [0, 1, 2].map((call) => `${one.plan.name}-${turn}-${call}\n`));
  await appendFile(join(one.workspace, EFFECTS_FILE), marks.join(''));
  expect((await verifySession(ada, one)).violations.join('\n')).toMatch(/left [12] marks/);
});
