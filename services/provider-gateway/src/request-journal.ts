/**
 * The session journal as far as one request writes it.
 *
 * J1. Every append compares with the tail of the fold; after a conflict the session is folded again.
 * J2. A step is appended only while the request is open and the attempt it belongs to is the newest.
 * J3. An answer in hand is worth waiting for: while the log does not confirm, it is tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConversationState, type EventInput, evolve, type StoredEventOf } from '@interlock/contracts';
import { append, RetryableError } from '@interlock/kit';
import type { House } from './house.ts';
import { reading } from './reading.ts';

/** The types that this service appends to the journal. */
type Step = 'model.attempt.started' | 'model.retrying' | 'model.failed' | 'model.message';

export interface RequestJournal {
  /** As folded last, with this service's own steps in it. */
  state(): ConversationState;
  /** Appends once. @returns false on a conflict; the state is the present one then */
  claim(data: EventInput<'model.attempt.started'>): Promise<boolean>;
  /**
   * Appends while the request is open and `attempt` its newest (0: none was started).
   * @returns the id of the stored event; null where it is not so any more
   */
  settle<Type extends Exclude<Step, 'model.attempt.started'>>(
    attempt: number,
    type: Type,
    data: EventInput<Type>,
  ): Promise<string | null>;
}

/** How long an append is tried again while the log cannot be reached or does not confirm. */
const HOLD_MS = 600_000;
const RETRY_MS = 500;

export function openJournal(
  { bus, writer, ids, folds }: House,
  requested: StoredEventOf<'model.requested'>,
  from: { readonly state: ConversationState; readonly traceparent: string },
): RequestJournal {
  const { tenant, session, run, turn, id: requestId } = requested.envelope;
  let { state } = from;

  const once = async <Type extends Step>(
    type: Type,
    data: EventInput<Type>,
    id: string,
  ): Promise<boolean> => {
    const draft = { type, data, run, turn, id, causationid: requestId, traceparent: from.traceparent };
    const result = await append(bus, writer, { tenant, session, lane: 's' }, state.journal.tail, draft);
    if (!result.ok) return false;
    state = evolve(state, result.entry);
    folds.offer(result.entry);
    return true;
  };

  const isMine = (attempt: number): boolean =>
    state.request?.id === requestId && (state.request.attempt?.number ?? 0) === attempt;

  return {
    state: () => state,
    async claim(data) {
      const stored = await once('model.attempt.started', data, ids.ulid());
      if (!stored) state = await reading(folds.latest(tenant, session));
      return stored;
    },
    async settle(attempt, type, data) {
      const id = ids.ulid();
      const deadline = performance.now() + HOLD_MS;
      for (;;) {
        try {
          if (await once(type, data, id)) return id;
          state = await reading(folds.latest(tenant, session));
          // An append that was given up for unconfirmed may have been stored after all.
          if (state.journal.step?.id === id) return id;
          if (!isMine(attempt)) return null;
        } catch (error) {
          if (!(error instanceof RetryableError) || performance.now() > deadline) throw error;
          bus.logger.warn(
            { type, requestId, code: error.code },
            'the log does not take or give; held and tried again',
          );
          await sleep(RETRY_MS);
        }
      }
    },
  };
}
