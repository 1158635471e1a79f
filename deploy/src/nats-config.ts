/** Renders nats-server's configuration. Pure. */
import type { BrokerUser } from './permissions.ts';

/** A user and the public key it proves to hold. */
export interface KeyedUser extends BrokerUser {
  /** `U…` */
  readonly nkey: string;
}

/** What a message may weigh, headers and body; the kit stores larger fields apart. */
const MAX_PAYLOAD = 1024 * 1024;

/**
 * The lines on users and limits: for a server whose listeners and store somebody else configures.
 *
 * One account holds everything today. Accounts apart come with service imports: then each `zone` gets its own block
 * here, and a user's rights stay what they are.
 */
export function renderAccess(users: readonly KeyedUser[]): string {
  return [
    `max_payload: ${MAX_PAYLOAD}`,
    'accounts {',
    '  HOUSE {',
    '    jetstream: enabled',
    '    users: [',
    ...users.flatMap(renderUser),
    '    ]',
    '  }',
    '}',
    '',
  ].join('\n');
}

export interface ServerOptions {
  readonly name: string;
  readonly storeDir: string;
  readonly users: readonly KeyedUser[];
  /** Host names of all nodes, this one too. Fewer than two: no cluster. */
  readonly nodes?: readonly string[];
  /** `always` for the profile `durable`. */
  readonly syncInterval?: string;
}

/** A whole configuration, for a server in a container of its own: clients on 4222, monitoring on 8222, routes on 6222. */
export function renderServer({ name, storeDir, users, nodes = [], syncInterval }: ServerOptions): string {
  const sync = syncInterval ? `, sync_interval: ${quoted(syncInterval)}` : '';
  const routes = nodes.map((node) => quoted(`nats://${node}:6222`)).join(', ');
  return [
    `server_name: ${quoted(name)}`,
    'listen: "0.0.0.0:4222"',
    'http: "0.0.0.0:8222"',
    `jetstream { store_dir: ${quoted(storeDir)}${sync} }`,
    ...(nodes.length > 1
      ? [`cluster { name: interlock, listen: "0.0.0.0:6222", no_advertise: true, routes: [${routes}] }`]
      : []),
    renderAccess(users),
  ].join('\n');
}

function renderUser({ name, zone, nkey, publish, subscribe }: KeyedUser): string[] {
  return [
    `      # ${name} (${zone})`,
    `      { nkey: ${nkey}, permissions: {`,
    `        publish: { allow: [${publish.map(quoted).join(', ')}] }`,
    `        subscribe: { allow: [${subscribe.map(quoted).join(', ')}] }`,
    '      } }',
  ];
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
