/** A real server with the streams and durables of the policy engine, and hands to play everybody else. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ALL_EVENTS,
  DURABLES,
  type Durable,
  type EventData,
  type EventType,
  type LaneAddress,
  type LogEntry,
  type PreflightReplyV1,
  type PreflightRequestV1,
  rpcSubject,
  STREAMS,
  type StoredEventOf,
  sessionFilter,
} from '@interlock/contracts';
import {
  type AnyDraft,
  appendSettled,
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  type LoadedKeys,
  readRange,
  serveRpc,
  startInProcess,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import { type NatsHandle, startNats } from '../../../test/harness/nats.ts';
import { startPolicyEngine } from '../src/index.ts';

export interface House {
  readonly nats: NatsHandle;
  readonly bus: Bus;
  readonly keys: LoadedKeys;
  writer(name: string): Writer;
  /** Starts a policy engine in this process; stopped with the house at the latest. */
  engine(env?: Record<string, string>): Promise<HousedService>;
  /** Serves a pool's preflight; null: does not answer. */
  pool(name: string, reply: (request: PreflightRequestV1) => PreflightReplyV1): { stop(): Promise<void> };
  stop(): Promise<void>;
}

const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });
const PEOPLE = ['ada', 'bob', 'mallory'];

export async function startHouse(): Promise<House> {
  const nats = await startNats();
  const keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  const people = PEOPLE.map((person) => ({ name: `client-${person}`, role: 'client' as const, person }));
  const services = ['policy-engine', 'observer', 'validator', 'provider-gateway', 'event-store'];
  const keys = await ensureKeys(keysDir, [...services, ...people]);
  const bus = await connectBus({ url: nats.url, name: 'test/1', logger: quiet });
  await provision(bus);
  const started: HousedService[] = [];
  return {
    nats,
    bus,
    keys,
    writer: (name) => ({
      service: name,
      instance: 'test',
      signer: keys.signers.get(name),
      clock: systemClock,
      ids: systemIds,
    }),
    async engine(env = {}) {
      const shared = {
        url: nats.url,
        keysDir,
        logger: quiet,
        env: { INTERLOCK_POLICY_POLL_MS: '50', ...env },
      };
      const service = await startInProcess('policy-engine', startPolicyEngine, shared);
      started.push(service);
      await until(() => service.ready());
      return service;
    },
    pool: (name, reply) =>
      serveRpc(bus, {
        subject: rpcSubject.preflight('*', name),
        queue: name,
        rpc: 'preflight',
        handle: async (request) => reply(request),
      }),
    async stop() {
      await Promise.all(started.map((service) => service.stop()));
      await bus.drain();
      await nats.stop();
      await rm(keysDir, { recursive: true, force: true });
    },
  };
}

async function provision(bus: Bus): Promise<void> {
  const common = { storage: 'file', num_replicas: 1, allow_direct: true };
  const streams = [
    { ...common, name: STREAMS.events, subjects: [ALL_EVENTS], allow_atomic: true, deny_delete: true },
    { ...common, name: STREAMS.blob, subjects: ['blob.v1.>'] },
    {
      ...common,
      name: STREAMS.timers,
      subjects: ['timer.v1.>'],
      retention: 'workqueue',
      max_msgs_per_subject: 1,
      allow_msg_schedules: true,
    },
  ];
  for (const config of streams) await ask(bus, `STREAM.CREATE.${config.name}`, config);
  for (const durable of [DURABLES['policy-engine'], DURABLES['policy-engine-timers']])
    await provisionDurable(bus, durable);
}

/** @param ackWaitMs how long a delivery may go without a sign of life */
export async function provisionDurable(bus: Bus, durable: Durable, ackWaitMs = 30_000): Promise<void> {
  await ask(bus, `CONSUMER.CREATE.${durable.stream}.${durable.name}`, {
    stream_name: durable.stream,
    action: '',
    config: {
      durable_name: durable.name,
      name: durable.name,
      ack_policy: 'explicit',
      ack_wait: ackWaitMs * 1e6,
      deliver_policy: 'all',
      filter_subjects: durable.filters,
    },
  });
}

async function ask(bus: Bus, call: string, body: unknown): Promise<void> {
  const reply = await bus.request(`$JS.API.${call}`, JSON.stringify(body), { timeoutMs: 5000 });
  const { error } = reply.json<{ error?: { description: string } }>();
  if (error) throw new Error(`${call}: ${error.description}`);
}

/** Appends to a journal at its present end, as the given writer. */
export async function put(
  house: House,
  service: string,
  lane: LaneAddress,
  draft: AnyDraft,
): Promise<LogEntry> {
  const appended = await appendSettled(house.bus, house.writer(service), lane, () => ({ draft }));
  if (!appended.ok) throw new Error(`not appended: ${draft.type}`);
  return appended.entry;
}

/** All of a session, signatures judged as by everybody. */
export function entriesOf({ bus, keys }: House, session: string): Promise<LogEntry[]> {
  const range = { filter: sessionFilter('local', session), fromSeq: 1, leader: true };
  return readRange(bus, range, { keys: keys.keyRing, types: 'all' });
}

/** The events of a type on an intent's lane, in order. */
export async function eventsOf<Type extends EventType>(
  house: House,
  { session, intent }: { readonly session: string; readonly intent: string },
  type: Type,
): Promise<StoredEventOf<Type>[]> {
  const entries = await entriesOf(house, session);
  return entries.filter(
    (entry): entry is Extract<LogEntry, { type: Type }> & StoredEventOf<Type> =>
      entry.type === type && 'envelope' in entry && entry.envelope.intent === intent,
  );
}

/** Waits for the nth event of a type on a lane. */
export async function eventOf<Type extends EventType>(
  house: House,
  place: { readonly session: string; readonly intent: string },
  type: Type,
  nth = 1,
): Promise<StoredEventOf<Type>> {
  let found: StoredEventOf<Type> | undefined;
  await until(async () => {
    found = (await eventsOf(house, place, type))[nth - 1];
    return found !== undefined;
  });
  if (!found) throw new Error(`no ${type}`);
  return found;
}

export type DataOf<Type extends EventType> = EventData<Type>;

/** Waits for a state, never for a time. */
export async function until(what: () => boolean | Promise<boolean>, limitMs = 15_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await what())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Nothing is pending or unacknowledged on a durable. */
export async function settled(house: House, durable: Durable = DURABLES['policy-engine']): Promise<void> {
  await until(async () => {
    const info = await house.bus.request(`$JS.API.CONSUMER.INFO.${durable.stream}.${durable.name}`, '', {
      timeoutMs: 5000,
    });
    const { num_pending, num_ack_pending } = info.json<{ num_pending: number; num_ack_pending: number }>();
    return num_pending === 0 && num_ack_pending === 0;
  });
}
