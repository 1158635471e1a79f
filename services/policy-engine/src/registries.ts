/**
 * The registries of the tenant and of the house: tools, policies, grants.
 *
 * R1. Both are folded through the same sequence, and a decision records which: folded again to there, they say the
 *     same a year later.
 */
import {
  evolveRegistry,
  HOUSE_TENANT,
  initialRegistry,
  type LaneAddress,
  type LogEntry,
  laneFilter,
  type RegistryState,
  SYSTEM_SESSION,
  type ToolDefinition,
} from '@interlock/contracts';
import { type Bus, FoldCache, type Metrics } from '@interlock/kit';

interface RegistryBook {
  readonly throughSeq: number;
  readonly registry: RegistryState;
  /** Answers that gave a grant, revoked ones too: none gives a second. */
  readonly given: Readonly<Record<string, true>>;
}

function evolveBook(book: RegistryBook, entry: LogEntry): RegistryBook {
  const registry = evolveRegistry(book.registry, entry);
  const counts = entry.type === 'grant.given' && registry.grants !== book.registry.grants;
  const given = counts ? { ...book.given, [entry.data.answerId]: true as const } : book.given;
  return { throughSeq: entry.seq, registry, given };
}

export interface Registries {
  readonly house: RegistryState;
  readonly tenant: RegistryState;
  /** Sequence through which both are folded. */
  readonly seq: number;
  /** Answers of this tenant that gave a grant. */
  readonly given: Readonly<Record<string, true>>;
}

export interface RegistryReader {
  /** Both at least through `seq`. */
  through(tenant: string, seq: number): Promise<Registries>;
  /** Both to the leader's present end. */
  latest(tenant: string): Promise<Registries>;
}

export function createRegistries(bus: Bus, metrics: Metrics): RegistryReader {
  const books = new FoldCache<RegistryBook>({
    bus,
    metrics,
    rare: true,
    initial: (tenant) => ({ throughSeq: 0, registry: initialRegistry(tenant), given: {} }),
    evolve: evolveBook,
    filter: (tenant) => laneFilter(registryLane(tenant)),
  });
  const through = async (tenant: string, seq: number): Promise<Registries> => {
    for (let target = seq; ; ) {
      const [house, own] = await Promise.all([
        books.through(HOUSE_TENANT, SYSTEM_SESSION, target),
        books.through(tenant, SYSTEM_SESSION, target),
      ]);
      // The cache may know more than was asked for; then the other lane is read as far.
      const newest = Math.max(house.registry.tail.seq, own.registry.tail.seq);
      if (newest <= target)
        return { house: house.registry, tenant: own.registry, seq: target, given: own.given };
      target = newest;
    }
  };
  return {
    through,
    async latest(tenant) {
      const [house, own] = await Promise.all([
        books.latest(HOUSE_TENANT, SYSTEM_SESSION),
        books.latest(tenant, SYSTEM_SESSION),
      ]);
      return through(tenant, Math.max(house.registry.tail.seq, own.registry.tail.seq));
    },
  };
}

/** The registry lane of a tenant. */
export function registryLane(tenant: string): LaneAddress {
  return { tenant, session: SYSTEM_SESSION, lane: 'sys' };
}

/** A definition by digest; the tenant's or the house's. */
export function definitionOf({ tenant, house }: Registries, digest: string): ToolDefinition | null {
  return tenant.definitions[digest] ?? house.definitions[digest] ?? null;
}
