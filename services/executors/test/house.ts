/**
 * A real server with the streams of the house, a stand-in for the event-store (registration, lanes), and hands that play
 * everybody before the executor: they take a call along its lane to a signed permit.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  ALL_EVENTS,
  BUCKETS,
  callOf,
  type Durable,
  evolve,
  executorDurable,
  initialState,
  type LogEntry,
  liveSubject,
  type RegisterRequestV1,
  rpcSubject,
  STREAMS,
  sessionFilter,
  tailOf,
} from '@interlock/contracts';
import {
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  hashOf,
  type LoadedKeys,
  readRange,
  type StartService,
  serveRpc,
  startInProcess,
  systemClock,
  systemIds,
  type Verifier,
  type Writer,
} from '@interlock/kit';
import { type NatsHandle, startNats } from '../../../test/harness/nats.ts';
import { startExecutor } from '../src/index.ts';
import { bwrapBin } from './bwrap.ts';

const quiet = createLogger({
  service: 'test',
  instance: 'test',
  level: process.env.INTERLOCK_TEST_LOG === '1' ? 'debug' : 'silent',
});

const POOLS = ['fs', 'shell', 'test'];

export interface HouseOptions {
  /** How long a delivery may go without a sign of life. Default 30 000, as in the house. */
  readonly ackWaitMs?: number;
  /** Leave the claim out of the answers of `query.lane`. */
  readonly withoutClaims?: boolean;
}

export interface ExecutorProcess {
  readonly pid: number;
  /** Resolves when it is gone: its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
}

export interface House {
  readonly nats: NatsHandle;
  readonly bus: Bus;
  readonly keys: LoadedKeys;
  readonly keysDir: string;
  readonly registered: RegisterRequestV1[];
  /** How often `query.lane` was asked. */
  laneQueries(): number;
  writer(name: string): Writer;
  verifier(): Verifier;
  /** Starts an executor in this process and waits until it takes work. */
  executor(pool: string, env?: Record<string, string>, start?: StartService): Promise<HousedService>;
  /** Starts an executor as a process of its own and waits until it is up. */
  executorProcess(pool: string, env?: Record<string, string>): Promise<ExecutorProcess>;
  entries(session: string): Promise<LogEntry[]>;
  stop(): Promise<void>;
}

export async function startHouse(options: HouseOptions = {}): Promise<House> {
  const nats = await startNats();
  const keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  const keys = await ensureKeys(keysDir, [
    ...['policy-engine', 'observer', 'validator', 'provider-gateway', 'event-store'],
    ...POOLS.map((pool) => `executor-${pool}`),
  ]);
  const bus = await connectBus({ url: nats.url, name: 'test/1', logger: quiet });
  await provision(bus, options.ackWaitMs ?? 30_000);
  const registered: RegisterRequestV1[] = [];
  let laneQueries = 0;
  serveRpc(bus, {
    subject: rpcSubject.register('*', '*'),
    queue: 'event-store',
    rpc: 'register',
    handle: (request) => {
      registered.push(request);
      return Promise.resolve({ ok: true, digests: request.tools.map(hashOf) });
    },
  });
  serveRpc(bus, {
    subject: rpcSubject.query('*', 'lane'),
    queue: 'event-store',
    rpc: 'query.lane',
    handle: async ({ session, intent }, { subject }) => {
      laneQueries += 1;
      const tenant = subject.split('.')[2] ?? '';
      let state = initialState(tenant, session);
      for (const entry of await entriesOf(tenant, session)) state = evolve(state, entry);
      const call = callOf(state, intent);
      const claim = call?.claim ?? null;
      return {
        ok: true,
        tail: tailOf(state, intent),
        step: call?.step ?? null,
        ...(options.withoutClaims ? {} : { claim }),
      };
    },
  });
  const verifier = (): Verifier => ({ keys: keys.keyRing, types: 'all' });
  const entriesOf = (tenant: string, session: string): Promise<LogEntry[]> =>
    readRange(bus, { filter: sessionFilter(tenant, session), fromSeq: 1, leader: true }, verifier());
  const services: HousedService[] = [];
  const processes: ExecutorProcess[] = [];
  const environment = (pool: string): Record<string, string> => ({
    PATH: process.env.PATH ?? '',
    INTERLOCK_POOL: pool,
    INTERLOCK_KEYS_DIR: keysDir,
    INTERLOCK_BWRAP_BIN: bwrapBin(),
    INTERLOCK_STOP_GRACE_MS: '300',
  });
  return {
    ...{ nats, bus, keys, keysDir, registered, verifier },
    laneQueries: () => laneQueries,
    writer: (name) => ({
      service: name,
      instance: 'test',
      signer: keys.signers.get(name),
      clock: systemClock,
      ids: systemIds,
    }),
    async executor(pool, env = {}, start = startExecutor) {
      const service = await startInProcess(`executor-${pool}`, start, {
        url: nats.url,
        keysDir,
        logger: quiet,
        env: { ...environment(pool), ...env },
      });
      services.push(service);
      await until(() => service.ready());
      return service;
    },
    async executorProcess(pool, env = {}) {
      const child = await spawnExecutor({ ...environment(pool), INTERLOCK_NATS_URL: nats.url, ...env });
      processes.push(child);
      return child;
    },
    entries: (session) => entriesOf('local', session),
    async stop() {
      for (const child of processes) child.kill('SIGKILL');
      await Promise.all(processes.map(({ ended }) => ended));
      await Promise.all(services.map((service) => service.stop()));
      await bus.drain();
      await nats.stop();
      await rm(keysDir, { recursive: true, force: true });
    },
  };
}

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts');

async function spawnExecutor(env: Record<string, string>): Promise<ExecutorProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...env,
      INTERLOCK_ANNOUNCE: '1',
      INTERLOCK_LOG_LEVEL: process.env.INTERLOCK_TEST_LOG === '1' ? 'debug' : 'fatal',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0));
  });
  const lines = createInterface({ input: child.stdout });
  const up = new Promise<void>((resolve) => lines.once('line', () => resolve()));
  await Promise.race([
    up,
    ended.then((how) => Promise.reject(new Error(`it ended with ${how} while starting`))),
  ]);
  return { pid: child.pid ?? 0, ended, kill: (signal) => void child.kill(signal) };
}

async function provision(bus: Bus, ackWaitMs: number): Promise<void> {
  const stream = (name: string, subjects: string[], more: object = {}): Promise<void> =>
    api(bus, `STREAM.CREATE.${name}`, {
      name,
      subjects,
      storage: 'file',
      allow_direct: true,
      num_replicas: 1,
      ...more,
    });
  await stream(STREAMS.events, [ALL_EVENTS], { allow_atomic: true, deny_delete: true, deny_purge: true });
  await stream(STREAMS.blob, ['blob.v1.>']);
  await stream(STREAMS.live, [liveSubject.all], { storage: 'memory' });
  for (const bucket of Object.values(BUCKETS)) {
    const more = { max_msgs_per_subject: 1, allow_msg_ttl: true, allow_rollup_hdrs: true };
    await stream(`KV_${bucket}`, [`$KV.${bucket}.>`], more);
  }
  for (const pool of POOLS) await provisionDurable(bus, executorDurable(pool), ackWaitMs);
}

function provisionDurable(bus: Bus, { name, stream, filters }: Durable, ackWaitMs: number): Promise<void> {
  const [filter_subject = ''] = filters;
  const config = {
    durable_name: name,
    ack_policy: 'explicit',
    ack_wait: ackWaitMs * 1e6,
    max_deliver: -1,
    filter_subject,
  };
  return api(bus, `CONSUMER.DURABLE.CREATE.${stream}.${name}`, { stream_name: stream, config });
}

async function api(bus: Bus, subject: string, request: object = {}): Promise<void> {
  const reply = await bus.request(`$JS.API.${subject}`, JSON.stringify(request), { timeoutMs: 20_000 });
  const { error } = reply.json<{ error?: { description: string } }>();
  if (error) throw new Error(`${subject}: ${error.description}`);
}

/** Messages that a durable has delivered and nobody has acknowledged, and those it has yet to deliver. */
export async function pendingOf(bus: Bus, pool: string): Promise<number> {
  const { name, stream } = executorDurable(pool);
  const reply = await bus.request(`$JS.API.CONSUMER.INFO.${stream}.${name}`, '', { timeoutMs: 5000 });
  const { num_ack_pending, num_pending } = reply.json<{ num_ack_pending: number; num_pending: number }>();
  return num_ack_pending + num_pending;
}

/** Waits for a state, never for a time. */
export async function until<Value>(
  look: () => Value | Promise<Value>,
  limitMs = 20_000,
): Promise<NonNullable<Value>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
