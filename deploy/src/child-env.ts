/**
 * The environment of one service. Pure.
 *
 * N1. Built from nothing: a service sees what is named here, not what the person's shell happens to hold.
 * N2. What looks like a secret goes to the provider gateway and to nobody else.
 */
import type { ServiceSpec } from './house-services.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** What any program needs to run at all. */
const PLAIN = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'USER', 'XDG_RUNTIME_DIR'];
/** What the gateway needs besides: the provider's key and the way out to it. */
const GATEWAY = [
  'ANTHROPIC_API_KEY',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
];
const SECRET = /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|SEED/;
/** Ours, but meant for one process at a time: given through the service's own settings only. */
const NOT_PASSED_ON = new Set([
  'INTERLOCK_FAILPOINT',
  'INTERLOCK_ANNOUNCE',
  'INTERLOCK_HEALTH_PORT',
  'INTERLOCK_POOL',
]);

export interface ServiceSettings {
  readonly url: string;
  readonly keysDir: string;
  readonly nkeySeedFile?: string | undefined;
  readonly logLevel: string;
  readonly pools: readonly string[];
  /** Folders that no tool's call may see: the house's own, with its keys and its log. */
  readonly hidden: readonly string[];
  /** Folders that workspaces must be in; absent: anywhere. */
  readonly workspaceRoots?: readonly string[] | undefined;
  /** Settings of this one service; they win. */
  readonly own?: Env | undefined;
}

export function childEnv(spec: ServiceSpec, base: Env, settings: ServiceSettings): Record<string, string> {
  const isGateway = spec.kind === 'provider-gateway';
  const names = [
    ...PLAIN,
    ...(isGateway ? GATEWAY : []),
    ...Object.keys(base).filter((name) => isOurs(name, isGateway)),
  ];
  const env: Env = {
    ...Object.fromEntries(names.map((name) => [name, base[name]])),
    INTERLOCK_NATS_URL: settings.url,
    INTERLOCK_KEYS_DIR: settings.keysDir,
    INTERLOCK_NKEY_SEED_FILE: settings.nkeySeedFile,
    INTERLOCK_LOG_LEVEL: settings.logLevel,
    INTERLOCK_POOLS: settings.pools.join(','),
    INTERLOCK_POOL: spec.pool,
    ...(spec.kind === 'executors' ? executorEnv(base, settings) : {}),
    ...settings.own,
  };
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  );
}

function executorEnv(base: Env, { hidden, workspaceRoots }: ServiceSettings): Env {
  return {
    INTERLOCK_HIDDEN_PATHS: [...hidden, base.INTERLOCK_HIDDEN_PATHS].filter(Boolean).join(':'),
    ...(workspaceRoots ? { INTERLOCK_WORKSPACE_ROOTS: workspaceRoots.join(':') } : {}),
  };
}

function isOurs(name: string, isGateway: boolean): boolean {
  if (!name.startsWith('INTERLOCK_') || NOT_PASSED_ON.has(name)) return false;
  return isGateway || !SECRET.test(name);
}
