/** A real server with the streams of the house, and a service's view of it. */
import {
  ALL_EVENTS,
  type Durable,
  type EventType,
  type LaneAddress,
  type Role,
  STREAMS,
  sessionFilter,
} from '@interlock/contracts';
import { AckPolicy, jetstreamManager, StorageType, type StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { type NatsHandle, type NatsOptions, startNats } from '../../test/harness/nats.ts';
import {
  type Bus,
  type BusConfig,
  connectBus,
  createLogger,
  createSigner,
  generateKeyPair,
  KeyRing,
  type Signer,
  systemClock,
  systemIds,
  type TrustedKey,
  type Verifier,
  type Writer,
} from '../src/index.ts';

export const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });

export interface House {
  readonly nats: NatsHandle;
  bus(name?: string, config?: Partial<BusConfig>): Promise<Bus>;
  stop(): Promise<void>;
}

/** A server with `EV`, `BLOB`, `TM` and the two buckets, as the contracts want them. */
export async function startHouse(options: NatsOptions = {}): Promise<House> {
  const nats = await startNats(options);
  const buses: Bus[] = [];
  const bus: House['bus'] = async (name = 'test', config = {}) => {
    const made = await connectBus({ url: nats.urls, name: `${name}/1`, logger: quiet, ...config });
    buses.push(made);
    return made;
  };
  await provision((await bus('provisioner')).nc, options.nodes ?? 1);
  return {
    nats,
    bus,
    async stop() {
      await Promise.all(buses.map((each) => each.nc.close()));
      await nats.stop();
    },
  };
}

export async function provision(nc: NatsConnection, replicas: 1 | 3): Promise<void> {
  const { streams } = await jetstreamManager(nc, { timeout: 20_000 });
  const add = (name: string, subjects: string[], more: Partial<StreamConfig>): Promise<unknown> =>
    streams.add({
      name,
      subjects,
      storage: StorageType.File,
      num_replicas: replicas,
      allow_direct: true,
      ...more,
    });
  await add(STREAMS.events, [ALL_EVENTS], {
    allow_atomic: true,
    deny_delete: true,
    deny_purge: true,
    compression: 's2',
  } as Partial<StreamConfig>);
  await add(STREAMS.blob, ['blob.v1.>'], {});
  await add(STREAMS.timers, ['timer.v1.>'], {
    allow_msg_schedules: true,
    allow_msg_ttl: true,
  } as Partial<StreamConfig>);
  for (const bucket of ['registry', 'lease']) {
    await add(`KV_${bucket}`, [`$KV.${bucket}.>`], {
      max_msgs_per_subject: 1,
      allow_msg_ttl: true,
      allow_rollup_hdrs: true,
      deny_delete: true,
    } as Partial<StreamConfig>);
  }
}

export interface DurableOptions {
  readonly ackWaitMs?: number;
  readonly maxDeliver?: number;
}

/** Provisions a durable, as the event-store would. */
export async function provisionDurable(
  bus: Bus,
  durable: Durable,
  options: DurableOptions = {},
): Promise<void> {
  const { consumers } = await jetstreamManager(bus.nc);
  await consumers.add(durable.stream, {
    durable_name: durable.name,
    ack_policy: AckPolicy.Explicit,
    ack_wait: (options.ackWaitMs ?? 30_000) * 1e6,
    max_deliver: options.maxDeliver ?? -1,
    filter_subjects: [...durable.filters],
  });
}

export interface Keys {
  readonly ring: KeyRing;
  readonly trusted: TrustedKey[];
  signer(name: string): Signer;
}

/** Keys for roles, `executor-<pool>` and `client-<person>`. */
export function makeKeys(...names: string[]): Keys {
  const signers = new Map<string, Signer>();
  const trusted: TrustedKey[] = [];
  for (const name of names) {
    const signer = createSigner(generateKeyPair().privateKey);
    signers.set(name, signer);
    const [, pool] = /^executor-(.+)$/.exec(name) ?? [];
    const [, person] = /^client-(.+)$/.exec(name) ?? [];
    const role = (pool ? 'executor' : person ? 'client' : name) as Role;
    trusted.push({ keyid: signer.keyid, publicKey: signer.publicKey, role, pool, person });
  }
  return {
    ring: new KeyRing(trusted),
    trusted,
    signer(name) {
      const signer = signers.get(name);
      if (!signer) throw new Error(`no key ${name}`);
      return signer;
    },
  };
}

export function writerOf(service: string, signer?: Signer): Writer {
  return { service, instance: '1', signer, clock: systemClock, ids: systemIds };
}

export function verifierOf(keys: Keys, ...types: EventType[]): Verifier {
  return { keys: keys.ring, types: types.length === 0 ? 'all' : new Set(types) };
}

let sessions = 0;
/** A session id nobody else in this process uses. */
export function newSession(): string {
  sessions += 1;
  return `session-${process.pid}-${sessions}`;
}

export function journal(session: string): LaneAddress {
  return { tenant: 'local', session, lane: 's' };
}

export function intentLane(session: string, intent: string): LaneAddress {
  return { tenant: 'local', session, lane: 'i', intent };
}

export const filterOf = (session: string): string => sessionFilter('local', session);

/** Waits for a state, never for a time. */
export async function until(what: () => boolean | Promise<boolean>, limitMs = 15_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await what())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
