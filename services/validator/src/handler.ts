import { isEvent } from '@interlock/contracts';
import { ack, type Delivery, type Fate, nak } from '@interlock/kit';
import { freesNothing, readyCalls } from './decide.ts';
import { type Cause, intentOf, type Validation, validate } from './validate.ts';

/** Deliveries of one intent are handled one after another, those of others side by side. */
export function keyOf({ subject }: Delivery): string {
  const place = intentOf(subject);
  return place ? `${place.tenant}.${place.session}.${place.intent}` : subject;
}

/**
 * Handles `tool.intent` and `tool.observation`. An intent that must wait is acked: the observation that frees it takes
 * it up, since it finds the proposal in the fold.
 * @param startedAt when this service started: time in which nobody listened is not held against a pool
 */
export function createHandler(house: Validation, startedAt: Date): (delivery: Delivery) => Promise<Fate> {
  const { sessions, config } = house;
  return async (delivery) => {
    const { entry, seq, timestamp, traceparent, logger } = delivery;
    const place = intentOf(delivery.subject);
    if (!place) return ack;
    const { tenant, session, intent } = place;
    const cached = sessions.peek(tenant, session);
    if (isEvent(entry, 'tool.observation') && cached && freesNothing(cached.conversation, intent)) return ack;
    sessions.offer(entry);
    const state = await sessions.through(tenant, session, seq);
    const ready = readyCalls(state).filter(
      ({ call }) => isEvent(entry, 'tool.observation') || call.intent === intent,
    );
    const since = Math.max(timestamp.getTime(), startedAt.getTime());
    const deadline = new Date(since + config.preflightDeadlineMs);
    const cause: Cause = { tenant, session, seq, timestamp, deadline, traceparent, logger };
    const progress = await Promise.all(ready.map((call) => validate(house, cause, call, state)));
    return progress.includes('later') ? nak(config.preflightRetryMs) : ack;
  };
}
