import { loadConfig, type RunningService, type ServiceContext, type StartService } from '@interlock/kit';
import { eventStoreConfigSchema, topologyOptionsOf } from './config.ts';
import { startDeadLetters } from './dead-letters.ts';
import type { Actual } from './drift.ts';
import { startJudging } from './handler.ts';
import { logReport, type ProvisionMode, provision } from './provision.ts';
import { liveExecutors } from './queries/registry.ts';
import { serveQueries } from './queries/serve.ts';
import { startReconciling } from './reconcile.ts';
import { serveRegister } from './register.ts';
import { Registries } from './registries.ts';
import { SessionsIndex } from './sessions-index.ts';
import { poolOfDurable, type Topology, type TopologyOptions, topologyOf } from './topology.ts';

export { type EventStoreConfig, eventStoreConfigSchema, topologyOptionsOf } from './config.ts';
export { type Actual, type DriftKind, type DriftLine, describeDrift, driftOf } from './drift.ts';
export {
  type ProvisionMode,
  type ProvisionOptions,
  type ProvisionReport,
  provision,
  readActual,
} from './provision.ts';
export {
  ANALYTICS_DURABLE,
  type ConsumerConfig,
  PROFILES,
  type Profile,
  type StreamConfig,
  type StreamLimits,
  type Topology,
  type TopologyOptions,
  topologyOf,
  type WantedConsumer,
} from './topology.ts';

/** The topology of these options, with the durables of pools that registered by themselves. */
export function topologyFor(options: TopologyOptions, actual: Actual): Topology {
  const registered = actual.consumers.flatMap(({ config }) => poolOfDurable(config.durable_name) ?? []);
  return topologyOf({ ...options, pools: [...options.pools, ...registered] });
}

/**
 * Provisions, then judges, answers and registers.
 * @throws ConfigError; NATS's error when the server does not answer or lacks peers for 30 seconds
 */
export const startEventStore: StartService = async (context: ServiceContext): Promise<RunningService> => {
  const { bus, writer, env, metrics, logger } = context;
  const config = loadConfig(eventStoreConfigSchema, { env });
  const options = topologyOptionsOf(config);
  const run = (mode: ProvisionMode) => provision(bus, (actual) => topologyFor(options, actual), { mode });
  logReport(bus, await run('repair'), 'repair');

  const registries = new Registries(bus, writer, metrics);
  const index = new SessionsIndex(bus);
  const judging = startJudging(context, registries);
  const deadLetters = startDeadLetters(context, registries);
  const queries = serveQueries(context, registries, index);
  const registration = serveRegister({
    bus,
    registries,
    profile: options.profile,
    logger,
    livePools: async () => new Set((await liveExecutors(bus)).map(({ pool }) => pool)),
  });
  const reconciling = startReconciling({
    bus,
    everyMs: config.reconcileMs,
    provisionMissing: () => run('create'),
  });
  // The first list need not wait for the whole log to be read.
  index
    .catchUp()
    .catch((error: unknown) =>
      logger.warn({ err: error }, 'the list of sessions is read when it is asked for'),
    );

  return {
    ready: () => judging.bound() && deadLetters.bound(),
    async stop() {
      await Promise.all([registration.stop(), queries.stop(), reconciling.stop()]);
      await Promise.all([judging.stop(), deadLetters.stop()]);
    },
  };
};
