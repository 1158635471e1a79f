/** A real server, keys, and event-stores on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  type LoadedKeys,
  startInProcess,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import { type NatsHandle, type NatsOptions, startNats } from '../../../test/harness/nats.ts';
import { startEventStore } from '../src/index.ts';

const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });

export interface TestHouse {
  readonly nats: NatsHandle;
  readonly keys: LoadedKeys;
  /** A connection of its own. */
  bus(name?: string): Promise<Bus>;
  /** A writer that signs with the key of `name`, where there is one. */
  writer(name: string): Writer;
  /** Another replica of the event-store. */
  eventStore(env?: Record<string, string>): Promise<HousedService>;
  stop(): Promise<void>;
}

const KEYS = [
  'policy-engine',
  'observer',
  'executor-fs',
  'executor-shell',
  { name: 'client-ada', role: 'client', person: 'ada' },
] as const;

export async function startTestHouse(options: NatsOptions = {}): Promise<TestHouse> {
  const nats = await startNats(options);
  const keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  const keys = await ensureKeys(keysDir, KEYS);
  const buses: Bus[] = [];
  const services: HousedService[] = [];
  return {
    nats,
    keys,
    async bus(name = 'test') {
      const bus = await connectBus({ url: nats.urls, name: `${name}/1`, logger: quiet });
      buses.push(bus);
      return bus;
    },
    writer: (name) => ({
      service: name,
      instance: '1',
      signer: keys.signers.get(name),
      clock: systemClock,
      ids: systemIds,
    }),
    async eventStore(env = {}) {
      const profile = options.nodes === 3 ? 'ha' : 'dev';
      const service = await startInProcess('event-store', startEventStore, {
        url: nats.urls,
        keysDir,
        logger: quiet,
        env: { INTERLOCK_PROFILE: profile, ...env },
      });
      services.push(service);
      return service;
    },
    async stop() {
      await Promise.all(services.map((service) => service.stop()));
      await Promise.all(buses.map((bus) => bus.nc.close()));
      await nats.stop();
      await rm(keysDir, { recursive: true, force: true });
    },
  };
}

let count = 0;
/** A session id nobody else in this process uses. */
export function newSession(): string {
  count += 1;
  return `s-${process.pid}-${count}`;
}

/** Waits for a state, never for a time. */
export async function until<Value>(
  what: () => Promise<Value | null | undefined | false>,
  limitMs = 15_000,
): Promise<Value> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await what();
    if (value !== null && value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resolves when the event-store has judged all that is stored, its own records included. */
export async function judged(bus: Bus): Promise<void> {
  const ask = async (call: string) =>
    (await bus.request(`$JS.API.${call}`, '', { timeoutMs: 5000 })).json<Info>();
  await until(async () => {
    const consumer = await ask('CONSUMER.INFO.EV.event-store');
    const { state } = await ask('STREAM.INFO.EV');
    const { num_pending: pending, num_ack_pending: unanswered, ack_floor: floor } = consumer;
    return pending === 0 && unanswered === 0 && floor?.stream_seq === state?.last_seq;
  }, 60_000);
}

interface Info {
  readonly num_pending?: number;
  readonly num_ack_pending?: number;
  readonly ack_floor?: { readonly stream_seq: number };
  readonly state?: { readonly last_seq: number };
}
