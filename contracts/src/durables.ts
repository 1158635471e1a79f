/**
 * The durable consumers: which types each service is woken by. One per service, shared by its replicas; one per pool
 * for executors. The event-store provisions them; nobody else creates a consumer.
 */
import { EVENTS, type EventType } from './registry.ts';
import { ALL_EVENTS, eventFilter, STREAMS, timerSubject } from './subjects.ts';

export interface Durable {
  readonly name: string;
  readonly stream: string;
  readonly filters: readonly string[];
}

/** How long a delivery may go without a sign of life before it is given to another replica. */
export const ACK_WAIT_MS = 30_000;

function anyOf(type: EventType): string {
  return eventFilter({ lane: EVENTS[type].lane, tenant: '*', session: '*', intent: '*', type, pool: '*' });
}

function on(name: string, types: readonly EventType[]): Durable {
  return { name, stream: STREAMS.events, filters: types.map(anyOf) };
}

export const DURABLES = {
  'provider-gateway': on('provider-gateway', ['model.requested']),
  validator: on('validator', ['tool.intent', 'tool.observation']),
  'policy-engine': on('policy-engine', ['tool.validated', 'tool.answer', 'undo.requested']),
  'policy-engine-timers': {
    name: 'policy-engine-timers',
    stream: STREAMS.timers,
    filters: [timerSubject.firedFilter('policy-engine')],
  },
  observer: on('observer', [
    'session.opened',
    'session.closed',
    'user.message',
    'run.cancel',
    'run.finished',
    'model.message',
    'model.failed',
    'tool.validation_failed',
    'tool.approval.denied',
    'tool.cancelled',
    'tool.execution.completed',
    'tool.observation',
    'event.quarantined',
  ]),
  'observer-timers': {
    name: 'observer-timers',
    stream: STREAMS.timers,
    filters: [timerSubject.firedFilter('observer')],
  },
  'event-store': { name: 'event-store', stream: STREAMS.events, filters: [ALL_EVENTS] },
  'event-store-dlq': { name: 'event-store-dlq', stream: STREAMS.deadLetters, filters: [] },
} as const satisfies Record<string, Durable>;

/** The durable of an executor pool. */
export function executorDurable(pool: string): Durable {
  return {
    name: `executor-${pool}`,
    stream: STREAMS.events,
    filters: [
      eventFilter({ lane: 'i', tenant: '*', session: '*', intent: '*', type: 'tool.approval.allowed', pool }),
    ],
  };
}
