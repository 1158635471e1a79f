/**
 * Tool definitions by digest, from the registry lanes of the tenant and of the house. A definition never changes under
 * its digest, so one that is known costs no read.
 */
import {
  evolveRegistry,
  HOUSE_TENANT,
  initialRegistry,
  laneFilter,
  type RegistryState,
  SYSTEM_SESSION,
  type ToolDefinition,
  type VisibleTool,
} from '@interlock/contracts';
import { type Bus, FoldCache, type Logger, type Metrics } from '@interlock/kit';
import { reading } from './reading.ts';

export interface ToolCatalog {
  /**
   * The definitions of the tools that a request shows; the registry is folded through `seq`. One that the registry
   * does not hold is left out and logged: it must not fail the request.
   */
  find(tenant: string, seq: number, tools: readonly VisibleTool[]): Promise<readonly ToolDefinition[]>;
}

export function createToolCatalog(bus: Bus, metrics: Metrics, logger: Logger): ToolCatalog {
  const known = new Map<string, ToolDefinition>();
  const registries = new FoldCache<RegistryState>({
    bus,
    metrics,
    initial: initialRegistry,
    evolve: evolveRegistry,
    filter: (tenant) => laneFilter({ tenant, session: SYSTEM_SESSION, lane: 'sys' }),
  });
  const learn = async (tenant: string, seq: number, digests: readonly string[]): Promise<void> => {
    const states = await reading(
      Promise.all([HOUSE_TENANT, tenant].map((each) => registries.through(each, SYSTEM_SESSION, seq))),
    );
    for (const digest of digests) {
      const definition = states
        .map(({ definitions }) => definitions[digest])
        .find((found) => found !== undefined);
      if (definition) known.set(digest, definition);
    }
  };
  return {
    async find(tenant, seq, tools) {
      const unknown = tools.filter(({ digest }) => !known.has(digest)).map(({ digest }) => digest);
      if (unknown.length > 0) await learn(tenant, seq, unknown);
      return tools.flatMap(({ name, digest }) => {
        const definition = known.get(digest);
        if (definition) return [definition];
        logger.error(
          { tool: name, digest },
          'the registry has no such definition; the tool is not shown to the model',
        );
        return [];
      });
    },
  };
}
