import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** What every service counts. Each service has a registry of its own, also where several share a process. */
export interface Metrics {
  readonly registry: Registry;
  /** Deliveries by durable, type and fate (`ack`, `nak`, `term`). */
  readonly deliveries: Counter<'durable' | 'type' | 'fate'>;
  /** Acknowledged appends by type. */
  readonly appends: Counter<'type'>;
  /** Appends that somebody else had forestalled, by type. */
  readonly conflicts: Counter<'type'>;
  /** Seconds from the start of a handler to its fate. */
  readonly handlerSeconds: Histogram<'durable' | 'type'>;
  /** Reads a fold cache made, by kind (`range`, `refold`, `latest`). */
  readonly foldReads: Counter<'kind'>;
}

export function createMetrics(service: string, options: { readonly process?: boolean } = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const registers = [registry];
  // Of the process, not of a service: only where a service has the process to itself.
  if (options.process) collectDefaultMetrics({ register: registry });
  return {
    registry,
    deliveries: new Counter({
      name: 'interlock_deliveries_total',
      help: 'Deliveries by durable, type and fate.',
      labelNames: ['durable', 'type', 'fate'],
      registers,
    }),
    appends: new Counter({
      name: 'interlock_appends_total',
      help: 'Acknowledged appends by type.',
      labelNames: ['type'],
      registers,
    }),
    conflicts: new Counter({
      name: 'interlock_append_conflicts_total',
      help: 'Appends that somebody else had forestalled, by type.',
      labelNames: ['type'],
      registers,
    }),
    handlerSeconds: new Histogram({
      name: 'interlock_handler_seconds',
      help: 'Seconds from the start of a handler to its fate.',
      labelNames: ['durable', 'type'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
    foldReads: new Counter({
      name: 'interlock_fold_reads_total',
      help: 'Reads of the log by fold caches.',
      labelNames: ['kind'],
      registers,
    }),
  };
}
