/**
 * The rule files in force for a session, by digest. A file that cannot be had or read is in force all the same: as a
 * layer that asks (P5 of the algebra), never as one that is not there.
 */
import { readFileSync } from 'node:fs';
import { HOUSE_TENANT, type Layer, type SessionOpenedV1, toArtifactUri } from '@interlock/contracts';
import { type Bus, getArtifact, hashOf, type Logger, messageOf } from '@interlock/kit';
import type { LayerBundle, PolicyInForce } from './engines/native.ts';
import type { Registries } from './registries.ts';
import { describeProblems, type Loaded, loadBundle } from './rules/load.ts';

/** The policy that ships with the house. Throws when it is broken, which no release is. */
export function defaultBundle(): LayerBundle {
  const loaded = loadBundle(readFileSync(new URL('./rules/default-policy.yaml', import.meta.url)));
  if (!loaded.ok) throw new Error(`the shipped policy is broken:\n${describeProblems(loaded.problems)}`);
  return { layer: 'default', digest: loaded.bundle.digest, bundle: loaded.bundle };
}

/** Several files as one policy. */
export function policyOf(layers: readonly LayerBundle[]): PolicyInForce {
  return { layers, digest: hashOf(layers.map(({ layer, digest }) => ({ layer, digest }))) };
}

export interface Bundles {
  /** What is in force for a session, by the registries as given. */
  inForce(registries: Registries, policies: SessionOpenedV1['policies']): Promise<PolicyInForce>;
  /** Spares a read of what this process has just stored. */
  remember(loaded: Loaded): void;
}

/** Rule files kept. */
const MAX_KEPT = 500;

interface Wanted {
  readonly layer: Layer;
  readonly digest: string;
  /** Whose `BLOB` holds it. */
  readonly owner: string;
}

export function createBundles(bus: Bus, logger: Logger): Bundles {
  const shipped = defaultBundle();
  const kept = new Map<string, Loaded>();
  const remember = (loaded: Loaded): void => {
    kept.set(loaded.ok ? loaded.bundle.digest : loaded.digest, loaded);
    const oldest = kept.size > MAX_KEPT ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
  };
  const load = async ({ layer, digest, owner }: Wanted): Promise<LayerBundle> => {
    const problem = (why: string): LayerBundle => {
      logger.error(
        { code: 'policy_invalid', layer, digest, tenant: owner, why },
        'a policy in force cannot be used',
      );
      return { layer, digest, bundle: null, problem: why };
    };
    try {
      const loaded = kept.get(digest) ?? loadBundle(await getArtifact(bus, owner, toArtifactUri(digest)));
      remember(loaded);
      return loaded.ok
        ? { layer, digest, bundle: loaded.bundle }
        : problem(describeProblems(loaded.problems));
    } catch (error) {
      return problem(messageOf(error));
    }
  };
  return {
    remember,
    async inForce(registries, policies) {
      const layers = await Promise.all(wantedFiles(registries, policies).map(load));
      return policyOf([...layers, shipped]);
    },
  };
}

/** The managed files of house and tenant, then what travels with the session. */
function wantedFiles(
  { house, tenant }: Registries,
  policies: SessionOpenedV1['policies'],
): readonly Wanted[] {
  const wanted: Wanted[] = [];
  for (const { policies: active } of house === tenant ? [house] : [house, tenant]) {
    if (active.managed) wanted.push({ layer: 'managed', digest: active.managed.digest, owner: HOUSE_TENANT });
  }
  const owner = tenant.tenant;
  if (policies.project) wanted.push({ layer: 'project', digest: policies.project, owner });
  if (policies.user) wanted.push({ layer: 'user', digest: policies.user, owner });
  return wanted;
}
