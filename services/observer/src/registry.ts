/** The tools that a model is shown: the registry of the tenant over that of the house, by the session's mode. */
import {
  HOUSE_TENANT,
  type Mode,
  type RegistryState,
  SYSTEM_SESSION,
  toolsInForce,
  type VisibleTool,
} from '@interlock/contracts';
import type { Clock } from '@interlock/kit';

/** Visible tools of a mode, sorted by name. Pure. */
export function visibleTools(
  house: RegistryState,
  tenant: RegistryState,
  mode: Mode,
): readonly VisibleTool[] {
  return toolsInForce(house, tenant)
    .filter(({ definition }) => definition.visibleIn.includes(mode))
    .map(({ digest, definition }) => ({
      name: definition.name,
      digest,
      pool: definition.pool,
      readOnly: definition.readOnly,
    }));
}

export interface RegistrySource {
  latest(tenant: string, session: string): Promise<RegistryState>;
}

interface Known {
  readonly at: number;
  readonly state: Promise<RegistryState>;
}

/** Looks tools up in folds that are `maxAgeMs` old at most. */
export function createToolLookup(
  source: RegistrySource,
  { maxAgeMs, clock }: { readonly maxAgeMs: number; readonly clock: Clock },
): (tenant: string, mode: Mode) => Promise<readonly VisibleTool[]> {
  const known = new Map<string, Known>();
  const registryOf = (tenant: string): Promise<RegistryState> => {
    const now = clock.now().getTime();
    const found = known.get(tenant);
    if (found && now - found.at < maxAgeMs) return found.state;
    const state = source.latest(tenant, SYSTEM_SESSION);
    known.set(tenant, { at: now, state });
    state.catch(() => {
      if (known.get(tenant)?.state === state) known.delete(tenant);
    });
    return state;
  };
  return async (tenant, mode) => {
    const [house, own] = await Promise.all([registryOf(HOUSE_TENANT), registryOf(tenant)]);
    return visibleTools(house, own, mode);
  };
}
