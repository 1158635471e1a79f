/** A real server with the streams and durables that the observer needs, and observers on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_EVENTS, DURABLES, type Durable, STREAMS } from '@interlock/contracts';
import {
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  type LoadedKeys,
  startInProcess,
} from '@interlock/kit';
import { type NatsHandle, startNats } from '../../../test/harness/nats.ts';
import { startObserver } from '../src/index.ts';

const quiet = createLogger({
  service: 'test',
  instance: 'test',
  level: process.env.INTERLOCK_TEST_LOG === '1' ? 'debug' : 'silent',
});

/** Short times, so that a test waits for what happens and not for a clock. */
const IMPATIENT = {
  INTERLOCK_WATCH_MS: '300',
  INTERLOCK_LEASE_GRACE_MS: '200',
  INTERLOCK_STREAM_CANCEL_MS: '600',
  INTERLOCK_CANCEL_RETRY_MS: '100',
  INTERLOCK_QUARANTINE_GRACE_MS: '200',
  INTERLOCK_TOOLS_MAX_AGE_MS: '0',
};

export interface House {
  readonly nats: NatsHandle;
  readonly bus: Bus;
  readonly keys: LoadedKeys;
  readonly keysDir: string;
  observer(env?: Record<string, string>): Promise<HousedService>;
  /** Makes a durable anew: all that it ever delivered is delivered again. */
  rewind(durable: Durable): Promise<void>;
  stop(): Promise<void>;
}

/** A cluster of three with `INTERLOCK_TEST_NODES=3`. */
const NODES = process.env.INTERLOCK_TEST_NODES === '3' ? 3 : 1;

export async function startHouse(): Promise<House> {
  const nats = await startNats({ nodes: NODES });
  const keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  const keys = await ensureKeys(keysDir, ['observer', 'policy-engine', 'executor-fs', 'executor-shell']);
  const bus = await connectBus({ url: nats.url, name: 'test/1', logger: quiet });
  await provision(bus);
  const observers: HousedService[] = [];
  return {
    nats,
    bus,
    keys,
    keysDir,
    async observer(env = {}) {
      const service = await startInProcess('observer', startObserver, {
        url: nats.url,
        keysDir,
        logger: quiet,
        env: { ...IMPATIENT, ...env },
      });
      observers.push(service);
      return service;
    },
    async rewind(durable) {
      await api(bus, `CONSUMER.DELETE.${durable.stream}.${durable.name}`);
      await provisionDurable(bus, durable);
    },
    async stop() {
      await Promise.all(observers.map((service) => service.stop()));
      await bus.drain();
      await nats.stop();
      await rm(keysDir, { recursive: true, force: true });
    },
  };
}

async function provision(bus: Bus): Promise<void> {
  const stream = (name: string, subjects: string[], more: object = {}): Promise<void> =>
    api(bus, `STREAM.CREATE.${name}`, {
      name,
      subjects,
      storage: 'file',
      allow_direct: true,
      num_replicas: NODES,
      ...more,
    });
  await stream(STREAMS.events, [ALL_EVENTS], { allow_atomic: true, deny_delete: true, deny_purge: true });
  await stream(STREAMS.blob, ['blob.v1.>']);
  await stream(STREAMS.timers, ['timer.v1.>'], { allow_msg_schedules: true, allow_msg_ttl: true });
  await stream('KV_lease', ['$KV.lease.>'], {
    max_msgs_per_subject: 1,
    allow_msg_ttl: true,
    allow_rollup_hdrs: true,
  });
  await provisionDurable(bus, DURABLES.observer);
  await provisionDurable(bus, DURABLES['observer-timers']);
}

function provisionDurable(bus: Bus, { name, stream, filters }: Durable): Promise<void> {
  const [only = ''] = filters;
  const filter = filters.length > 1 ? { filter_subjects: filters } : { filter_subject: only };
  const config = { durable_name: name, ack_policy: 'explicit', ack_wait: 30e9, max_deliver: -1, ...filter };
  return api(bus, `CONSUMER.DURABLE.CREATE.${stream}.${name}`, { stream_name: stream, config });
}

async function api(bus: Bus, subject: string, request: object = {}): Promise<void> {
  const reply = await bus.request(`$JS.API.${subject}`, JSON.stringify(request), { timeoutMs: 20_000 });
  const { error } = reply.json<{ error?: { description: string } }>();
  if (error) throw new Error(`${subject}: ${error.description}`);
}

/** Waits for a state, never for a time. */
export async function until<Value>(
  look: () => Value | Promise<Value>,
  what: () => unknown = () => look,
  limitMs = 15_000,
): Promise<NonNullable<Value>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${String(what())}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
