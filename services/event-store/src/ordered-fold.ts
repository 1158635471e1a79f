/**
 * Folds from deliveries. The event-store's durable delivers all of `EV` in stream order, so as long as no sequence is
 * missing from what came, nothing of any lane is missing either, and a fold needs no read. Where that is not proved
 * (another replica took the ones between, a redelivery, a restart) the gap is read.
 *
 * O1. `step` gives the state before an entry that holds every earlier entry of the filter, and nothing later.
 * O2. Entries come to `step` one at a time, each after `window.note` of its sequence.
 * O3. An entry that was noted and not folded costs its lane its state: what is kept never skips one.
 */
import type { LogEntry } from '@interlock/contracts';

/** The run of consecutive stream sequences that came last. */
export class DeliveryWindow {
  #from = 0;
  #through = 0;

  /** First sequence of the run; 0 before the first delivery. */
  get from(): number {
    return this.#from;
  }

  /** Last sequence of the run. */
  get through(): number {
    return this.#through;
  }

  note(seq: number): void {
    if (seq === this.#through + 1) {
      if (this.#from === 0) this.#from = seq;
      this.#through = seq;
    } else if (seq > this.#through) {
      this.#from = seq;
      this.#through = seq;
    }
  }

  /** Whether a state folded through `throughSeq` misses nothing that stood before this run. */
  joins(throughSeq: number): boolean {
    return this.#from > 0 && throughSeq >= this.#from - 1;
  }
}

/** Which fold an entry belongs to. */
export interface FoldKey {
  readonly tenant: string;
  readonly session: string;
}

export interface OrderedFoldOptions<State> {
  readonly window: DeliveryWindow;
  readonly initial: (key: FoldKey) => State;
  /** Pure and total. Must advance `throughSeq` for every entry. */
  readonly evolve: (state: State, entry: LogEntry) => State;
  /** The entries of a fold from one sequence through another, complete. May throw; nothing is kept then. */
  readonly read: (key: FoldKey, fromSeq: number, throughSeq: number) => Promise<LogEntry[]>;
  /** Folds kept. Default 300. */
  readonly maxKept?: number;
}

export class OrderedFold<State extends { readonly throughSeq: number }> {
  readonly #options: OrderedFoldOptions<State>;
  readonly #kept = new Map<string, State>();
  #dropped = false;

  constructor(options: OrderedFoldOptions<State>) {
    this.#options = options;
  }

  /** The state before `entry`; folds `entry` after it. */
  async step(key: FoldKey, entry: LogEntry): Promise<State> {
    const name = `${key.tenant}.${key.session}`;
    const known = this.#kept.get(name);
    // Redelivered: later ones may have been folded, or have failed. What is kept stays as it is.
    const isFolded = known !== undefined && known.throughSeq >= entry.seq;
    if (isFolded || entry.seq < this.#options.window.through) {
      return this.#readOn(key, known && !isFolded ? known : this.#options.initial(key), entry.seq - 1);
    }
    let before: State;
    try {
      before = await this.#before(key, known, entry.seq);
    } catch (error) {
      this.#drop(name);
      throw error;
    }
    this.#keep(name, this.#options.evolve(before, entry));
    return before;
  }

  async #before(key: FoldKey, known: State | undefined, seq: number): Promise<State> {
    const { initial, window } = this.#options;
    // The log has been seen from its first message on, and nothing of it was let go: what is not kept is new.
    const start = known ?? initial(key);
    if (known || !this.#dropped) {
      if (window.joins(start.throughSeq)) return start;
    }
    return this.#readOn(key, start, seq - 1);
  }

  async #readOn(key: FoldKey, start: State, throughSeq: number): Promise<State> {
    if (throughSeq <= start.throughSeq) return start;
    const entries = await this.#options.read(key, start.throughSeq + 1, throughSeq);
    return entries.reduce(this.#options.evolve, start);
  }

  #keep(name: string, state: State): void {
    this.#kept.delete(name);
    this.#kept.set(name, state);
    if (this.#kept.size <= (this.#options.maxKept ?? 300)) return;
    for (const oldest of this.#kept.keys()) {
      this.#drop(oldest);
      return;
    }
  }

  #drop(name: string): void {
    this.#kept.delete(name);
    this.#dropped = true;
  }
}
