/**
 * Tool definitions from the registry lanes of the tenant and of the house. A definition never changes under its digest,
 * so one that is known costs no read.
 */
import {
  evolveRegistry,
  HOUSE_TENANT,
  initialRegistry,
  laneFilter,
  type RegistryState,
  SYSTEM_SESSION,
  type ToolDefinition,
  toolsInForce,
} from '@interlock/contracts';
import { type Bus, FoldCache, type Metrics } from '@interlock/kit';

export interface Place {
  readonly tenant: string;
  /** The registry is folded at least through here. */
  readonly seq: number;
}

export interface Definitions {
  /** The definition of a digest; null when the registry has none. */
  ofDigest(place: Place, digest: string): Promise<ToolDefinition | null>;
  /** True when the tenant or the house has a tool of that name in force. */
  hasTool(place: Place, name: string): Promise<boolean>;
}

export function createDefinitions(bus: Bus, metrics: Metrics): Definitions {
  const known = new Map<string, ToolDefinition>();
  const registries = new FoldCache<RegistryState>({
    bus,
    metrics,
    initial: initialRegistry,
    evolve: evolveRegistry,
    filter: (tenant) => laneFilter({ tenant, session: SYSTEM_SESSION, lane: 'sys' }),
    rare: true,
  });
  const both = async ({ tenant, seq }: Place): Promise<readonly [RegistryState, RegistryState]> =>
    Promise.all([
      registries.through(HOUSE_TENANT, SYSTEM_SESSION, seq),
      registries.through(tenant, SYSTEM_SESSION, seq),
    ]);
  return {
    async ofDigest(place, digest) {
      const remembered = known.get(digest);
      if (remembered) return remembered;
      const [house, tenant] = await both(place);
      const definition = tenant.definitions[digest] ?? house.definitions[digest] ?? null;
      if (definition) known.set(digest, definition);
      return definition;
    },
    async hasTool(place, name) {
      const [house, tenant] = await both(place);
      return toolsInForce(house, tenant).some(({ definition }) => definition.name === name);
    },
  };
}
