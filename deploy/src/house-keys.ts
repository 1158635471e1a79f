import type { KeySpec } from '@interlock/kit';

/** The keys of a house: of those who sign decisions, facts, facts of lost pools, checkpoints, and people's answers. */
export function keySpecs(pools: readonly string[], person: string): (string | KeySpec)[] {
  return [
    'policy-engine',
    'observer',
    'event-store',
    ...pools.map((pool) => `executor-${pool}`),
    { name: `client-${person}`, role: 'client', person },
  ];
}
