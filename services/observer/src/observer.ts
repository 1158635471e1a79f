import { DURABLES } from '@interlock/contracts';
import { type Delivery, loadConfig, runConsumer, type StartService } from '@interlock/kit';
import { observerConfigSchema } from './config.ts';
import { createObserver, sessionOf } from './handler.ts';
import { createPorts, verifierOf } from './house.ts';
import { handleTimer } from './timers.ts';

/** Starts the observer: one consumer of events, one of timers. Ready when both have found their durables. */
export const startObserver: StartService = async (context) => {
  const { bus, env, metrics, logger } = context;
  const config = loadConfig(observerConfigSchema, { env });
  const ports = createPorts(context, config);
  const observer = createObserver(ports);
  const concurrency = config.observerConcurrency;
  const shared = { metrics, logger, concurrency };
  const events = runConsumer(bus, {
    ...shared,
    durable: DURABLES.observer,
    verifier: verifierOf(context),
    key: keyOf,
    handle: (delivery) => observer.handle(delivery),
  });
  const timers = runConsumer(bus, {
    ...shared,
    durable: DURABLES['observer-timers'],
    key: ({ subject }) => subject,
    handle: (delivery) => handleTimer(ports, delivery),
  });
  return {
    ready: () => events.bound() && timers.bound(),
    async stop() {
      await Promise.all([events.stop(), timers.stop()]);
    },
  };
};

/** Decisions on a session's journal one after another; observations of its calls side by side. */
function keyOf({ entry, subject }: Delivery): string {
  if (entry.type === 'unreadable') return subject;
  const ref = sessionOf(entry);
  if (!ref) return subject;
  const isOfCall = entry.envelope.intent !== undefined && entry.type !== 'tool.observation';
  return [ref.tenant, ref.session, ...(isOfCall ? [entry.envelope.intent] : [])].join('.');
}
