/** One delivery of `model.requested`: fold, decide, act, ack last. */
import { isEvent, type StoredEventOf } from '@interlock/contracts';
import { ack, type Delivery, type Fate, nak } from '@interlock/kit';
import { answerRequest } from './attempts.ts';
import { decide, type Plan } from './decide.ts';
import { deriveStored } from './derive.ts';
import type { House } from './house.ts';
import { reading } from './reading.ts';
import { openJournal, type RequestJournal } from './request-journal.ts';

/** Before a request of a projection that this version does not know is offered again. */
const LEAVE_MS = 5000;

export function createHandler(house: House): (delivery: Delivery) => Promise<Fate> {
  const options = { maxAttempts: house.config.modelMaxAttempts, providers: new Set(house.providers.keys()) };
  return async (delivery) => {
    const { entry: requested } = delivery;
    if (!isEvent(requested, 'model.requested')) return ack;
    const journal = await fold(house, requested, delivery);
    // Each turn of the loop follows a log that went on meanwhile.
    for (;;) {
      const plan = decide(journal.state(), requested, options);
      const fate = await act({ house, requested, journal, delivery }, plan);
      if (fate) return fate;
    }
  };
}

interface Job {
  readonly house: House;
  readonly requested: StoredEventOf<'model.requested'>;
  readonly journal: RequestJournal;
  readonly delivery: Delivery;
}

/** Does what was decided; null where the log went on and must be looked at again. */
async function act({ house, requested, journal, delivery }: Job, plan: Plan): Promise<Fate | null> {
  const { traceparent, logger } = delivery;
  switch (plan.kind) {
    case 'leave':
      logger.warn({ projection: plan.projection }, 'a projection this gateway does not know');
      return nak(LEAVE_MS);
    case 'closed':
      if (plan.answer) await deriveStored(house, journal.state(), plan.answer, { requested, traceparent });
      return ack;
    case 'fail': {
      const attempts = journal.state().request?.attempt?.number ?? 0;
      const { category, message } = plan;
      const failure = { category, message, attempts, usage: null, costUsd: null };
      return (await journal.settle(attempts, 'model.failed', failure)) === null ? null : ack;
    }
    case 'call': {
      const provider = house.providers.get(requested.data.provider);
      if (!provider) throw new Error(`no provider ${requested.data.provider}`);
      const ended = await answerRequest({ house, requested, provider, plan, journal, traceparent });
      return ended === 'settled' ? ack : null;
    }
  }
}

async function fold(
  house: House,
  requested: StoredEventOf<'model.requested'>,
  { redeliveries, traceparent }: Delivery,
): Promise<RequestJournal> {
  const { tenant, session } = requested.envelope;
  const { folds } = house;
  folds.offer(requested);
  // Delivered again, the request may long be closed: look at the end of the log, not at the place of the request.
  const state = await reading(
    redeliveries === 0 ? folds.through(tenant, session, requested.seq) : folds.latest(tenant, session),
  );
  return openJournal(house, requested, { state, traceparent });
}
