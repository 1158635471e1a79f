/** The services of a house: what each is called and how each is started. */
import type { StartService } from '@interlock/kit';

export const SERVICES = [
  'event-store',
  'provider-gateway',
  'validator',
  'policy-engine',
  'observer',
  'executors',
] as const;
export type ServiceKind = (typeof SERVICES)[number];

/** One service to run; executors once for each pool. */
export interface ServiceSpec {
  /** Key file, broker user and log file: `validator`, `executor-fs`. */
  readonly name: string;
  readonly kind: ServiceKind;
  readonly pool?: string;
}

export const DEFAULT_POOLS = ['fs', 'shell'] as const;

/** What to run, the event-store first. */
export function specsOf(services: readonly ServiceKind[], pools: readonly string[]): ServiceSpec[] {
  return SERVICES.filter((kind) => services.includes(kind)).flatMap((kind): ServiceSpec[] =>
    kind === 'executors'
      ? pools.map((pool) => ({ name: `executor-${pool}`, kind, pool }))
      : [{ name: kind, kind }],
  );
}

/** Loads a service's start function. Only what runs is loaded. */
export async function loadStart(kind: ServiceKind): Promise<StartService> {
  switch (kind) {
    case 'event-store':
      return (await import('@interlock/event-store')).startEventStore;
    case 'provider-gateway':
      return (await import('@interlock/provider-gateway')).startProviderGateway;
    case 'validator':
      return (await import('@interlock/validator')).startValidator;
    case 'policy-engine':
      return (await import('@interlock/policy-engine')).startPolicyEngine;
    case 'observer':
      return (await import('@interlock/observer')).startObserver;
    case 'executors':
      return (await import('@interlock/executors')).startExecutor;
  }
}

/** The program of a service, as TypeScript in a checkout and as JavaScript where it was built. */
export function mainUrl(kind: ServiceKind): string {
  return import.meta.resolve(`@interlock/${kind}/main`);
}
