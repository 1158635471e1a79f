/** The ports on NATS. */
import {
  BUCKETS,
  controlSubject,
  type EventType,
  evolve,
  evolveRegistry,
  initialRegistry,
  initialState,
  laneFilter,
  leaseKey,
  type RegistryState,
  sessionFilter,
} from '@interlock/contracts';
import {
  append,
  appendInbox,
  FoldCache,
  getKey,
  putArtifact,
  readFirst,
  readRange,
  type ServiceContext,
  setTimer,
  type Verifier,
} from '@interlock/kit';
import type { ObserverConfig } from './config.ts';
import { createObserverMetrics } from './metrics.ts';
import type { Ports, SessionLog } from './ports.ts';
import { createToolLookup } from './registry.ts';

/** Permits, claims and facts: what an observation rests on. A forged one must not stand in the way of the true one. */
const VERIFIED: ReadonlySet<EventType> = new Set([
  'tool.approval.allowed',
  'tool.execution.started',
  'tool.execution.completed',
  'execution.late',
]);

export function verifierOf({ keys }: Pick<ServiceContext, 'keys'>): Verifier {
  return { keys, types: VERIFIED };
}

export function createPorts(context: ServiceContext, config: ObserverConfig): Ports {
  const { bus, clock, ids, instance, logger, metrics } = context;
  const registry = new FoldCache<RegistryState>({
    bus,
    initial: initialRegistry,
    evolve: evolveRegistry,
    filter: (tenant, session) => laneFilter({ tenant, session, lane: 'sys' }),
    metrics,
  });
  return {
    log: createSessionLog(context),
    tools: createToolLookup(registry, { maxAgeMs: config.toolsMaxAgeMs, clock }),
    setTimer: (timer, at) => setTimer(bus, timer, at),
    sendControl: ({ tenant, session }, control) =>
      bus.nc.publish(controlSubject.cancel(tenant, session), JSON.stringify(control)),
    isLeaseAlive: async (pool, intent) =>
      (await getKey(bus, BUCKETS.leases, leaseKey(pool, intent))) !== null,
    storeText: async (tenant, text) =>
      void (await putArtifact(bus, tenant, text, { mediaType: 'text/plain; charset=utf-8' })),
    clock,
    ids,
    instance,
    config,
    metrics: createObserverMetrics(metrics),
    logger,
  };
}

function createSessionLog(context: ServiceContext): SessionLog {
  const { bus, writer, metrics } = context;
  const verifier = verifierOf(context);
  const folds = new FoldCache({
    bus,
    verifier,
    initial: initialState,
    evolve,
    filter: sessionFilter,
    metrics,
  });
  return {
    through: ({ tenant, session }, seq) => folds.through(tenant, session, seq),
    latest: ({ tenant, session }) => folds.latest(tenant, session),
    async append(lane, tail, draft) {
      const appended = await append(bus, writer, lane, tail, draft);
      if (appended.ok) folds.offer(appended.entry);
      return appended;
    },
    async post(ref, draft) {
      await appendInbox(bus, writer, ref, draft);
    },
    first: (subject) => readFirst(bus, subject, verifier),
    async at(subject, seq) {
      const [entry] = await readRange(bus, { filter: subject, fromSeq: seq, throughSeq: seq }, verifier);
      return entry ?? null;
    },
    offer: (entry) => folds.offer(entry),
  };
}
