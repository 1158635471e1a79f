/**
 * Folded sessions in memory. The log is the truth: what is here can be thrown away at any moment.
 *
 * M1. A state returned for a sequence holds every event of its filter through it; its `throughSeq` is at least that
 *     sequence, also when the event of that sequence is another session's.
 * M2. One read of a session is in flight at a time; those who ask meanwhile wait for it.
 * M3. Folding in steps gives what folding at once gives: `evolve` sees each entry once, in order.
 */
import { type LogEntry, parseEventSubject } from '@interlock/contracts';
import type { Bus } from './connection.ts';
import { decode, type Verifier } from './decode.ts';
import { isEmptyAtLeader, readMessages } from './lane/read.ts';
import { Lru } from './lru.ts';
import type { Metrics } from './metrics.ts';
import type { StoredMessage } from './stream-get.ts';

export interface FoldCacheOptions<State> {
  readonly bus: Bus;
  /** Whose signatures are checked. Default: none. */
  readonly verifier?: Verifier | undefined;
  readonly initial: (tenant: string, session: string) => State;
  /** Pure and total. Must advance `throughSeq` for every entry. */
  readonly evolve: (state: State, entry: LogEntry) => State;
  /** Subject filter of what is folded: `sessionFilter`, or a lane. */
  readonly filter: (tenant: string, session: string) => string;
  /**
   * Its events are rare, so that nothing new is the usual answer: one request to the leader instead of a batch and the
   * leader after it. Default false.
   */
  readonly rare?: boolean | undefined;
  /** Sessions kept; the one unused longest goes first. Default 500. */
  readonly maxSessions?: number | undefined;
  readonly metrics?: Metrics | undefined;
}

/** Entries remembered to spare a second parse. */
const ENTRIES = 2000;

interface Slot<State> {
  state: State;
  /** The furthest that anyone has asked for: the next read goes that far and serves all who wait. */
  wanted: number;
  /** Reads of this session, one after another. */
  queue: Promise<unknown>;
}

export class FoldCache<State extends { readonly throughSeq: number }> {
  readonly #options: FoldCacheOptions<State>;
  readonly #slots: Lru<string, Slot<State>>;
  readonly #entries = new Lru<number, LogEntry>(ENTRIES);

  constructor(options: FoldCacheOptions<State>) {
    this.#options = options;
    this.#slots = new Lru(options.maxSessions ?? 500);
  }

  /**
   * The state folded at least through `seq`.
   * @throws NATS's `TimeoutError`; RetryableError `artifact_unavailable`. The cache is as it was then.
   */
  through(tenant: string, session: string, seq: number): Promise<State> {
    const slot = this.#slot(tenant, session);
    if (slot.state.throughSeq >= seq) return Promise.resolve(slot.state);
    slot.wanted = Math.max(slot.wanted, seq);
    return this.#enqueue(slot, async () => {
      if (slot.state.throughSeq < seq)
        await this.#advance(slot, { tenant, session, throughSeq: slot.wanted });
      return slot.state;
    });
  }

  /** The state folded through exactly `seq` and no further: refolded from the start when the cache is past it. */
  exactly(tenant: string, session: string, seq: number): Promise<State> {
    const slot = this.#slot(tenant, session);
    return this.#enqueue(slot, async () => {
      if (slot.state.throughSeq < seq) await this.#advance(slot, { tenant, session, throughSeq: seq });
      if (slot.state.throughSeq === seq) return slot.state;
      const fresh = this.#newSlot(tenant, session);
      await this.#advance(fresh, { tenant, session, throughSeq: seq });
      return fresh.state;
    });
  }

  /** The state folded to the leader's present end. */
  latest(tenant: string, session: string): Promise<State> {
    const slot = this.#slot(tenant, session);
    return this.#enqueue(slot, async () => {
      await this.#advance(slot, { tenant, session });
      return slot.state;
    });
  }

  /**
   * Takes note of a delivered or just appended entry, decoded with this cache's verifier. It spares a later read the
   * parsing; and when the stream holds nothing between the cached state and it, it is folded at once. Otherwise what
   * stands before it in the session cannot be known from it.
   */
  offer(entry: LogEntry): void {
    this.#entries.set(entry.seq, entry);
    const address = parseEventSubject(entry.subject);
    const slot = address ? this.#slots.get(keyOf(address.tenant, address.session)) : undefined;
    if (slot && slot.state.throughSeq === entry.seq - 1) slot.state = this.#options.evolve(slot.state, entry);
  }

  /** What the cache holds, however old. */
  peek(tenant: string, session: string): State | undefined {
    return this.#slots.get(keyOf(tenant, session))?.state;
  }

  #slot(tenant: string, session: string): Slot<State> {
    const key = keyOf(tenant, session);
    const known = this.#slots.get(key);
    if (known) return known;
    const slot = this.#newSlot(tenant, session);
    this.#slots.set(key, slot);
    return slot;
  }

  #newSlot(tenant: string, session: string): Slot<State> {
    return { state: this.#options.initial(tenant, session), wanted: 0, queue: Promise.resolve() };
  }

  #enqueue(slot: Slot<State>, read: () => Promise<State>): Promise<State> {
    const result = slot.queue.then(read);
    slot.queue = result.catch(() => undefined);
    return result;
  }

  async #advance(
    slot: Slot<State>,
    to: { tenant: string; session: string; throughSeq?: number },
  ): Promise<void> {
    const { bus, evolve, filter, metrics } = this.#options;
    const fromSeq = slot.state.throughSeq + 1;
    const kind = to.throughSeq === undefined ? 'latest' : fromSeq === 1 ? 'refold' : 'range';
    metrics?.foldReads.inc({ kind });
    const range = { filter: filter(to.tenant, to.session), fromSeq };
    const nothing = this.#options.rare === true && (await isEmptyAtLeader(bus, range));
    const whole = to.throughSeq === undefined ? { leader: true } : { throughSeq: to.throughSeq };
    const messages = nothing ? [] : await readMessages(bus, { ...range, ...whole });
    const entries = await this.#decodeAll(messages);
    let { state } = slot;
    for (const entry of entries) state = evolve(state, entry);
    // Nothing of the filter stands between its last entry and what was asked for.
    const { throughSeq = 0 } = to;
    slot.state = state.throughSeq < throughSeq ? { ...state, throughSeq } : state;
  }

  async #decodeAll(messages: readonly StoredMessage[]): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for (const message of messages) {
      const known = this.#entries.get(message.seq);
      const entry =
        known?.subject === message.subject
          ? known
          : decode(this.#options.bus, message, this.#options.verifier);
      entries.push(entry instanceof Promise ? await entry : entry);
    }
    return entries;
  }
}

function keyOf(tenant: string, session: string): string {
  return `${tenant}.${session}`;
}
