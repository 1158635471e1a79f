/**
 * A house in memory: one log, two observers that run the real handlers, and the others (people, gateway, validator,
 * policy, executors) as honest but moody actors. One choice at a time decides who goes on, so that every interleaving
 * of reads, decisions and appends can happen, old folds and repeated deliveries included. Not NATS: what NATS does is
 * tested with NATS.
 */
import {
  type CancelControlV1,
  type ConversationState,
  DURABLES,
  EVENTS,
  type EventInput,
  type EventType,
  eventFilter,
  initialState,
  judge,
  type LogEntry,
  type StoredEvent,
  type TimerAddress,
  timerSubject,
} from '@interlock/contracts';
import { type AppendOptions, LogBuilder, READ_FILE, ulidOf, WRITE_FILE } from '@interlock/contracts/testing';
import { createLogger, createMetrics } from '@interlock/kit';
import { observerConfigSchema } from '../src/config.ts';
import { createObserver, type Observer } from '../src/handler.ts';
import { createObserverMetrics } from '../src/metrics.ts';
import type { Ports, SessionLog } from '../src/ports.ts';
import { handleTimer } from '../src/timers.ts';

const START = Date.UTC(2026, 10, 30, 12, 0, 0);
const REF = { tenant: 'local', session: 'demo' };
const TYPES = new Set(DURABLES.observer.filters);

/** Picks one of `n` possibilities. */
export type Choose = (n: number) => number;

interface Pending {
  readonly at: number;
  readonly label: string;
  readonly start: () => void;
}

interface Timer {
  readonly address: TimerAddress;
  readonly at: number;
}

export class World {
  readonly log = new LogBuilder(REF.tenant, REF.session);
  readonly choose: Choose;
  readonly states: ConversationState[] = [initialState(REF.tenant, REF.session)];
  readonly controls: CancelControlV1[] = [];
  /** What went wrong while it happened. */
  readonly faults: string[] = [];
  now = START;
  #lastAt = START;
  #ulids = 0;
  /** Observers' operations that wait for their turn. */
  readonly #suspended: (() => void)[] = [];
  readonly #deliveries: Pending[] = [];
  readonly #timers = new Map<string, Timer>();
  readonly #observers: { readonly observer: Observer; readonly ports: Ports }[];
  #running = 0;

  constructor(choose: Choose) {
    this.choose = choose;
    this.#observers = [0, 1].map((index) => {
      const ports = this.#ports(index);
      return { ports, observer: createObserver(ports) };
    });
  }

  get state(): ConversationState {
    return this.log.state();
  }

  /** Appends as anyone but an observer, on the tail as it is. */
  append<Type extends EventType>(
    type: Type,
    data: EventInput<Type>,
    options: AppendOptions = {},
  ): StoredEvent {
    const before = this.state;
    const entry = this.log.append(type, data, { ...options, afterMs: this.now - this.#lastAt });
    this.#stored(entry);
    const judged = judge(before, entry);
    if (EVENTS[type].lane !== 'u' && !judged.legal) this.faults.push(`${type} is a stray: ${judged.reason}`);
    return entry;
  }

  /** Something unreadable on a lane: it moves the tail and nothing else. */
  junk(lane: 's' | 'i', intent?: string): void {
    this.#stored(this.log.junk(lane, intent));
  }

  /** Calls whose observers' hands are free of work that is due now. */
  isQuiet(): boolean {
    return this.#running === 0 && this.#suspended.length === 0 && this.#due().length === 0;
  }

  /** One thing of the observers' side happens; false when there is nothing to do at this time. */
  async step(): Promise<boolean> {
    const due = this.#due();
    const total = this.#suspended.length + due.length;
    if (total === 0) return false;
    const choice = this.choose(total);
    if (choice < this.#suspended.length) {
      const [resume] = this.#suspended.splice(choice, 1);
      resume?.();
    } else {
      const pending = due[choice - this.#suspended.length];
      if (pending) {
        this.#deliveries.splice(this.#deliveries.indexOf(pending), 1);
        pending.start();
      }
    }
    await settled();
    return true;
  }

  /** Goes to the time when the next delivery or timer is due; false when there is none. */
  async skip(): Promise<boolean> {
    const times = [
      ...this.#deliveries.map(({ at }) => at),
      ...[...this.#timers.values()].map(({ at }) => at),
    ];
    if (times.length === 0) return false;
    this.now = Math.max(this.now, Math.min(...times));
    for (const [subject, timer] of this.#timers) {
      if (timer.at > this.now) continue;
      this.#timers.delete(subject);
      this.#deliver('timer', this.now, (index) => {
        const { ports } = this.#observers[index] ?? {};
        return ports
          ? handleTimer(ports, { subject, traceparent: '' })
          : Promise.resolve({ kind: 'ack' } as const);
      });
    }
    return true;
  }

  #due(): Pending[] {
    return this.#deliveries.filter(({ at }) => at <= this.now);
  }

  #stored(entry: LogEntry): void {
    this.#lastAt = this.now;
    this.states[entry.seq] = this.state;
    if (entry.type === 'unreadable') return;
    const { lane } = EVENTS[entry.type];
    const filter = eventFilter({ lane, tenant: '*', session: '*', intent: '*', type: entry.type, pool: '*' });
    if (!TYPES.has(filter)) return;
    // Now and then the same message goes to both replicas.
    const copies = this.choose(5) === 0 ? 2 : 1;
    const timestamp = new Date(this.now);
    for (let copy = 0; copy < copies; copy++) {
      let redeliveries = copy;
      this.#deliver(entry.type, this.now, (index) =>
        (this.#observers[index]?.observer ?? fail()).handle({
          entry,
          timestamp,
          traceparent: '',
          redeliveries: redeliveries++,
        }),
      );
    }
  }

  #deliver(
    label: string,
    at: number,
    handle: (observer: number) => Promise<{ kind: string; delayMs?: number }>,
  ): void {
    const start = (): void => {
      this.#running += 1;
      void handle(this.choose(2))
        .then((fate) => {
          if (fate.kind === 'nak') this.#deliver(label, this.now + (fate.delayMs ?? 0), handle);
          if (fate.kind === 'term') this.faults.push(`${label} was given up`);
        })
        .catch((error: unknown) => this.faults.push(`${label}: ${String(error)}`))
        .finally(() => {
          this.#running -= 1;
        });
    };
    this.#deliveries.push({ at, label, start });
  }

  /** Waits until it is this operation's turn, then does it at once. */
  #turn<Value>(operation: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#suspended.push(() => {
        try {
          resolve(operation());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
  }

  #ports(index: number): Ports {
    const metrics = createMetrics(`model-${index}`);
    let cached = 0;
    // A cache is anywhere between what was asked for and the present end.
    const through = (seq: number): ConversationState => {
      cached = Math.max(cached, seq, this.choose(3) === 0 ? seq + this.choose(this.log.seq - seq + 1) : 0);
      return this.states[cached] ?? fail();
    };
    const log: SessionLog = {
      through: (_, seq) => this.#turn(() => through(seq)),
      latest: () => this.#turn(() => through(this.log.seq)),
      append: (lane, tail, draft) =>
        this.#turn(() => {
          if (this.log.tail(lane.lane, lane.intent).seq !== tail.seq) return { ok: false };
          const { type, data, run, turn } = draft;
          const entry = this.append(type, data, {
            tail,
            ...(lane.intent === undefined ? {} : { intent: lane.intent }),
            ...(run === undefined ? {} : { run }),
            ...(turn === undefined ? {} : { turn }),
          });
          return { ok: true, entry, tail: { seq: entry.seq, hash: entry.hash } };
        }),
      post: (_, { type, data }) => this.#turn(() => void this.append(type, data)),
      first: (subject) =>
        this.#turn(() => this.log.entries.find((entry) => entry.subject === subject) ?? null),
      at: (subject, seq) =>
        this.#turn(
          () => this.log.entries.find((entry) => entry.subject === subject && entry.seq === seq) ?? null,
        ),
      offer: () => undefined,
    };
    return {
      log,
      tools: () => this.#turn(() => [READ_FILE, WRITE_FILE]),
      setTimer: (address, at) =>
        this.#turn(() => void this.#timers.set(timerSubject.fired(address), { address, at: at.getTime() })),
      sendControl: (_, control) => void this.controls.push(control),
      isLeaseAlive: () => this.#turn(() => false),
      storeText: () => this.#turn(() => undefined),
      clock: { now: () => new Date(this.now) },
      ids: { ulid: () => ulidOf(this.now, ++this.#ulids), nonce: () => 'nonce-00' },
      instance: `observer-${index}`,
      config: observerConfigSchema.parse({}),
      metrics: createObserverMetrics(metrics),
      logger: createLogger({ service: 'observer', instance: `${index}`, level: 'silent' }),
    };
  }
}

function fail(): never {
  throw new Error('the model is broken');
}

/** Lets handlers run to their next operation. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
