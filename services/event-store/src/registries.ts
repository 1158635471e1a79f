/** The registry lanes: folded for every tenant, and appended to by compare and set. */
import {
  evolveRegistry,
  initialRegistry,
  type LaneAddress,
  laneFilter,
  type RegistryState,
  type StoredEvent,
  SYSTEM_SESSION,
} from '@interlock/contracts';
import {
  type AnyDraft,
  append,
  type Bus,
  FoldCache,
  type Metrics,
  RetryableError,
  type Writer,
} from '@interlock/kit';

/** The registry lane of a tenant. */
export function registryLane(tenant: string): LaneAddress {
  return { tenant, session: SYSTEM_SESSION, lane: 'sys' };
}

/** How often one append may lose against others before its caller is told to come back. */
const ROUNDS = 100;

export class Registries {
  readonly #bus: Bus;
  readonly #writer: Writer;
  readonly #folds: FoldCache<RegistryState>;

  constructor(bus: Bus, writer: Writer, metrics?: Metrics) {
    this.#bus = bus;
    this.#writer = writer;
    this.#folds = new FoldCache({
      bus,
      metrics,
      initial: initialRegistry,
      evolve: evolveRegistry,
      filter: (tenant) => laneFilter(registryLane(tenant)),
    });
  }

  /** The registry of a tenant at the leader's present end. */
  latest(tenant: string): Promise<RegistryState> {
    return this.#folds.latest(tenant, SYSTEM_SESSION);
  }

  /**
   * Appends what `decide` wants on the registry as it is; decides again after each conflict.
   * @param decide pure; null: nothing is to be done
   * @returns the event; null when nothing was to be done
   * @throws RetryableError `lane_conflict` after 100 conflicts, and what the kit's `append` throws
   */
  async settle(
    tenant: string,
    decide: (state: RegistryState) => AnyDraft | null,
  ): Promise<StoredEvent | null> {
    // What is in memory may be old: then the comparison fails, and the leader is asked.
    let state = this.#folds.peek(tenant, SYSTEM_SESSION) ?? (await this.latest(tenant));
    for (let round = 0; round < ROUNDS; round++) {
      const draft = decide(state);
      if (draft === null) return null;
      const result = await append(this.#bus, this.#writer, registryLane(tenant), state.tail, draft);
      if (result.ok) {
        this.#folds.offer(result.entry);
        return result.entry;
      }
      state = await this.latest(tenant);
    }
    throw new RetryableError('lane_conflict', `the registry of ${tenant} changed ${ROUNDS} times in a row`);
  }
}
