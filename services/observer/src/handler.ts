/**
 * Deliveries of the observer's durable. Thin: fold, ask the pure parts, append, acknowledge.
 *
 * H1. Nothing is acknowledged before what it calls for is in the log, or the fold shows it done.
 * H2. Whatever is delivered twice, or to two replicas at once, is done once: the appends compare.
 */
import { type ConversationState, callOf, type StoredEvent, type StoredEventOf } from '@interlock/contracts';
import { ack, type Delivery, type Fate, nak } from '@interlock/kit';
import { type AdvanceInputs, advance } from './advance.ts';
import { gaveUpOn } from './cancel.ts';
import { ensureDeadline } from './deadline.ts';
import { observeCall, observeFromLog, observeSuperseded } from './observe.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';
import type { Ending } from './project/project.ts';
import { judgeQuarantine } from './quarantine.ts';
import { RecentKeys } from './recent-keys.ts';
import { stoppingOf } from './stopping.ts';
import { ensureWatch } from './watch.ts';
import { stopRun, withdraw } from './withdraw.ts';

/** What a handler needs of a delivery. */
export type Incoming = Pick<Delivery, 'entry' | 'redeliveries' | 'timestamp' | 'traceparent'>;

interface Handling {
  readonly ref: SessionRef;
  readonly cause: Cause;
  readonly incoming: Incoming;
}

export interface Observer {
  handle(incoming: Incoming): Promise<Fate>;
}

export function createObserver(ports: Ports): Observer {
  const { log, config, clock } = ports;
  const watched = new RecentKeys();
  const deadlines = new RecentKeys();

  /** Takes the steps that are due, and sets the timers that what is open needs. */
  const goOn = async (
    { ref, cause }: Handling,
    fold: ConversationState,
    inputs: AdvanceInputs = {},
  ): Promise<ConversationState> => {
    if (stoppingOf(fold)) await stopRun(ports, ref, { state: fold, cause });
    const state = await advance(ports, ref, fold, { ...inputs, cause });
    await Promise.all([ensureWatch(ports, state, watched), ensureDeadline(ports, state, deadlines)]);
    return state;
  };

  const onJournal = async (handling: Handling, seq: number): Promise<Fate> => {
    await goOn(handling, await log.through(handling.ref, seq));
    return ack;
  };

  const ageOf = ({ timestamp }: Incoming): number => clock.now().getTime() - timestamp.getTime();
  const givenUp = (state: ConversationState, incoming: Incoming): string | undefined =>
    gaveUpOn(state, { ageMs: ageOf(incoming), redeliveries: incoming.redeliveries }, config.streamCancelMs);

  /** `run.cancel`, or `session.closed` under a run: looked at again until the run is finished. */
  const onStop = async (handling: Handling, event: StoredEvent): Promise<Fate> => {
    const { ref, incoming } = handling;
    const fold = await log.latest(ref);
    if (!isStoppedBy(fold, event)) return ack;
    const state = await goOn(handling, fold, { gaveUpOn: givenUp(fold, incoming) });
    return stoppingOf(state) ? nak(config.cancelRetryMs) : ack;
  };

  const onEnding = async ({ ref, cause }: Handling, ending: Ending): Promise<Fate> => {
    const state = await log.through(ref, ending.seq);
    await observeCall(ports, ref, { state, ending, cause });
    return ack;
  };

  const onObservation = async (
    handling: Handling,
    observation: StoredEventOf<'tool.observation'>,
  ): Promise<Fate> => {
    const { ref, cause } = handling;
    const state = await log.through(ref, observation.seq);
    const edited = callOf(state, observation.envelope.intent ?? '');
    if (edited?.observation?.seq === observation.seq && edited.supersedes !== null) {
      await observeSuperseded(ports, ref, { state, edited, cause, observation });
    }
    await goOn(handling, state);
    return ack;
  };

  const onQuarantined = async (
    handling: Handling,
    { data }: StoredEventOf<'event.quarantined'>,
  ): Promise<Fate> => {
    const { ref, cause, incoming } = handling;
    const state = await log.latest(ref);
    const isLate = ageOf(incoming) >= config.quarantineGraceMs;
    const remedy = judgeQuarantine(state, data, isLate);
    switch (remedy.kind) {
      case 'wait':
        return nak(config.quarantineGraceMs);
      case 'withdraw': {
        const { intents, why } = remedy;
        const isStill = (now: ConversationState): boolean =>
          judgeQuarantine(now, data, isLate).kind === 'withdraw';
        await Promise.all(
          intents.map((intent) =>
            withdraw(ports, ref, {
              state,
              intent,
              cause,
              data: { reason: 'expired', detail: why },
              when: (_, now) => isStill(now),
            }),
          ),
        );
        return ack;
      }
      case 'observe':
        await observeFromLog(ports, ref, { state, call: remedy.call, cause });
        return ack;
      case 'lost':
        await goOn(handling, state, { lost: remedy });
        return ack;
      case 'advance': {
        // The dead letter may be the cancel itself: then this delivery goes on in its place.
        const now = await goOn(handling, state, { gaveUpOn: givenUp(state, incoming) });
        return stoppingOf(now) ? nak(config.cancelRetryMs) : ack;
      }
    }
  };

  return {
    handle(incoming) {
      const { entry } = incoming;
      if (entry.type === 'unreadable') return Promise.resolve(ack);
      log.offer(entry);
      const { id } = entry.envelope;
      const ref = sessionOf(entry);
      if (!ref) return Promise.resolve(ack);
      const handling = { ref, incoming, cause: { id, traceparent: incoming.traceparent } };
      switch (entry.type) {
        case 'session.opened':
          // Nothing can be pending before it: what was said earlier does not count.
          return Promise.resolve(ack);
        case 'user.message':
        case 'model.message':
        case 'model.failed':
        case 'run.finished':
          return onJournal(handling, entry.seq);
        case 'run.cancel':
        case 'session.closed':
          return onStop(handling, entry);
        case 'tool.validation_failed':
        case 'tool.approval.denied':
        case 'tool.cancelled':
        case 'tool.execution.completed':
          return onEnding(handling, entry);
        case 'tool.observation':
          return onObservation(handling, entry);
        case 'event.quarantined':
          return onQuarantined(handling, entry);
        default:
          return Promise.resolve(ack);
      }
    },
  };
}

/** The session that a delivery is about; null for a quarantined message of none. */
export function sessionOf(event: StoredEvent): SessionRef | null {
  if (event.type !== 'event.quarantined') {
    return { tenant: event.envelope.tenant, session: event.envelope.session };
  }
  const { session } = event.data;
  return session === undefined ? null : { tenant: event.envelope.tenant, session };
}

/** The event is what stops the run under way, or the one about to start. */
function isStoppedBy(state: ConversationState, event: StoredEvent): boolean {
  if (event.type === 'session.closed') return state.closed && state.run !== null;
  const { id } = event.envelope;
  return state.run?.cancel?.id === id || state.pendingCancel?.id === id;
}
