/** The shell around a service: settings, keys, connection, health, a graceful end. */
import { type Clock, type Ids, systemClock, systemIds } from './clock.ts';
import { type Bus, connectBus } from './connection.ts';
import { type Health, startHealth } from './health.ts';
import { type LoadedKeys, loadKeys } from './keys.ts';
import type { Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import type { KeyRing } from './signing.ts';
import type { Writer } from './writer.ts';

/** What a service is given. */
export interface ServiceContext {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly keys: KeyRing;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly ids: Ids;
  /** ULID of this process's service. */
  readonly instance: string;
  /** For the service's own settings, by `loadConfig`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface RunningService {
  /** Stops taking work, finishes what is in hand. Called once. */
  stop(): Promise<void>;
  ready(): boolean | Promise<boolean>;
}

/** Starts a service; rejects when it cannot. */
export type StartService = (context: ServiceContext) => Promise<RunningService>;

/** What services in one process have in common. */
export interface SharedHouse {
  readonly url: string | readonly string[];
  readonly keysDir: string;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nkeySeed?: string | undefined;
  readonly apiPrefix?: string | undefined;
  readonly connectTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  readonly healthPort?: number | undefined;
  readonly healthHost?: string | undefined;
  /** True when the service has the process to itself: metrics of the process too. */
  readonly ownProcess?: boolean | undefined;
}

/** A started service with its surroundings. `stop` ends all of it. */
export interface HousedService extends RunningService {
  readonly health: string;
  readonly bus: Bus;
  readonly instance: string;
}

/**
 * Starts a service on its own connection within this process, for `up` and for tests.
 * @param name key file and source: `validator`, `executor-fs`
 */
export async function startInProcess(
  name: string,
  start: StartService,
  shared: SharedHouse,
): Promise<HousedService> {
  const { clock = systemClock, ids = systemIds, env } = shared;
  const instance = ids.ulid();
  const keys = await loadKeys(shared.keysDir);
  const logger = shared.logger.child({ service: name, instance });
  const metrics = createMetrics(name, { process: shared.ownProcess ?? false });
  const bus = await connectBus({
    url: shared.url,
    name: `${name}/${instance}`,
    nkeySeed: shared.nkeySeed,
    apiPrefix: shared.apiPrefix,
    connectTimeoutMs: shared.connectTimeoutMs,
    logger,
  });
  const writer = { service: name, instance, signer: signerOf(keys, name), clock, ids, metrics };
  const context = { bus, writer, keys: keys.keyRing, logger, metrics, clock, ids, instance, env };
  let service: RunningService | undefined;
  let health: Health | undefined;
  try {
    service = await start(context);
    // What it serves is known to the server before anyone is told that it runs.
    await bus.nc.flush();
    health = await startHealth({
      port: shared.healthPort ?? 0,
      host: shared.healthHost,
      checks: { nats: () => bus.connected(), service: service.ready },
      metrics: metrics.registry,
    });
  } catch (error) {
    await service?.stop();
    await bus.drain();
    throw error;
  }
  return housed(service, health, bus, instance);
}

function signerOf({ signers }: LoadedKeys, name: string): Writer['signer'] {
  return signers.get(name);
}

function housed(service: RunningService, health: Health, bus: Bus, instance: string): HousedService {
  let ending: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await service.stop();
    await bus.drain();
    await health.close();
  };
  return {
    health: health.url,
    bus,
    instance,
    ready: () => service.ready(),
    stop: () => {
      ending ??= end();
      return ending;
    },
  };
}
