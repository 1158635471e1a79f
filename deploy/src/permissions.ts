/**
 * Who may say what at the broker. Pure: derived from the contracts table, the durables and the subjects; nothing is
 * granted here by a spelled-out event.
 *
 * P1. A user publishes exactly the events that the table says it appends; an executor those of its pool alone.
 * P2. A user's replies come to `_I.<user>.>` and nowhere else.
 * P3. Only the provisioner (the event-store) makes, changes or deletes streams and consumers.
 * P4. Executors and people's clients never read `EV`.
 *
 * What subject permissions cannot do in one account: stop a user from naming somebody else's subject as the reply of a
 * request it may make. Decisions, facts and answers are signed for that reason, and `zone` is where accounts part.
 */
import {
  BUCKETS,
  blobSubject,
  contractOf,
  controlSubject,
  DURABLES,
  type Durable,
  EVENT_TYPES,
  EVENTS,
  eventFilter,
  executorDurable,
  executorKey,
  isToken,
  kvSubject,
  leaseKey,
  liveSubject,
  type Role,
  rpcSubject,
  STREAMS,
  TIMER_OWNER,
  type TimerKind,
  tailSubject,
  timerSubject,
} from '@interlock/contracts';

/** Which account a user will live in once accounts are apart. All share one today. */
export type Zone = 'core' | 'pool' | 'people' | 'outside';

/** A user at the broker: its name is also the first token of its replies' subject after `_I`. */
export interface BrokerUser {
  readonly name: string;
  readonly zone: Zone;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export interface UsersOptions {
  readonly pools: readonly string[];
  /** Policy engines that run outside the house; each answers `rpc.v1.policy.evaluate.<name>`. Default none. */
  readonly engines?: readonly string[];
}

/** Everyone's rights, in a fixed order. Throws for a pool or an engine whose name is no token. */
export function brokerUsers({ pools, engines = [] }: UsersOptions): BrokerUser[] {
  for (const name of [...pools, ...engines]) {
    if (!isToken(name)) throw new TypeError(`"${name}" is not a name for a pool or an engine`);
  }
  return [
    eventStore(),
    providerGateway(),
    validator(),
    policyEngine(),
    observer(),
    ...pools.map(executor),
    ...engines.map(engine),
    client(),
    operator(),
    analytics(),
  ];
}

/** Stands for any token while a subject is built; the builders of the contracts take tokens only. */
const ANY = 'ANY';
const any = (subject: string): string => subject.replaceAll(ANY, '*');

const inboxOf = (name: string): string => `_I.${name}.>`;

/** The events of a role; an executor's with the pool in them. */
function appends(role: Role, pool = '*'): string[] {
  return EVENT_TYPES.filter((type) => contractOf(type).appendedBy.includes(role)).map((type) =>
    eventFilter({ lane: EVENTS[type].lane, tenant: '*', session: '*', intent: '*', type, pool }),
  );
}

/** To take and answer the deliveries of a durable. Both forms of the acknowledgement: a server may be told to use the newer. */
function pulls({ stream, name }: Durable): string[] {
  return [
    `$JS.API.CONSUMER.INFO.${stream}.${name}`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
    `$JS.ACK.${stream}.${name}.>`,
    `$JS.ACK.*.*.${stream}.${name}.>`,
  ];
}

/** To read a stream without a consumer: batches from any replica, single messages from the leader. */
const reads = (stream: string): string[] => [
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.STREAM.MSG.GET.${stream}`,
];

/** To store artifacts and to read them by their exact address. */
const ARTIFACTS = [
  blobSubject.all,
  `$JS.API.DIRECT.GET.${STREAMS.blob}.>`,
  `$JS.API.STREAM.MSG.GET.${STREAMS.blob}`,
];

const bucketReads = (bucket: string, keys: string): string[] => [
  `$JS.API.DIRECT.GET.KV_${bucket}.${kvSubject(bucket, keys)}`,
  `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
];

/** The schedules a service sets. */
function timersOf(owner: 'policy-engine' | 'observer'): string[] {
  const kinds = Object.keys(TIMER_OWNER).filter(
    (kind): kind is TimerKind => TIMER_OWNER[kind as TimerKind] === owner,
  );
  return kinds.map((kind) => any(timerSubject.schedule({ kind, tenant: ANY, session: ANY, id: ANY })));
}

function core(name: Role, publish: readonly string[], subscribe: readonly string[] = []): BrokerUser {
  return {
    name,
    zone: 'core',
    publish: [...appends(name), ...reads(STREAMS.events), ...ARTIFACTS, ...publish],
    subscribe: [inboxOf(name), ...subscribe],
  };
}

/** Provisions, so it may do all of the JetStream API; answers everyone's queries. */
function eventStore(): BrokerUser {
  const { publish, ...user } = core(
    'event-store',
    [...pulls(DURABLES['event-store']), ...pulls(DURABLES['event-store-dlq']), '_I.>'],
    [rpcSubject.query('*', '*'), rpcSubject.register('*', '*'), '$JS.EVENT.ADVISORY.>'],
  );
  return { ...user, publish: ['$JS.API.>', ...publish.filter((subject) => !subject.startsWith('$JS.API.'))] };
}

function providerGateway(): BrokerUser {
  return core(
    'provider-gateway',
    [...pulls(DURABLES['provider-gateway']), any(liveSubject.of(ANY, ANY, 'text', ANY))],
    [controlSubject.cancel('*', '*')],
  );
}

function validator(): BrokerUser {
  return core('validator', [...pulls(DURABLES.validator), rpcSubject.preflight('*', '*')]);
}

/** Its own engines answer by RPC too, so that they may be moved out of it. */
function policyEngine(): BrokerUser {
  return core(
    'policy-engine',
    [
      ...pulls(DURABLES['policy-engine']),
      ...pulls(DURABLES['policy-engine-timers']),
      ...timersOf('policy-engine'),
      rpcSubject.preflight('*', '*'),
      rpcSubject.evaluate('*'),
      inboxOf('policy-engine'),
    ],
    [rpcSubject.evaluate('*')],
  );
}

function observer(): BrokerUser {
  return core('observer', [
    ...pulls(DURABLES.observer),
    ...pulls(DURABLES['observer-timers']),
    ...timersOf('observer'),
    ...bucketReads(BUCKETS.leases, '>'),
    controlSubject.cancel('*', '*'),
  ]);
}

function executor(pool: string): BrokerUser {
  const name = `executor-${pool}`;
  return {
    name,
    zone: 'pool',
    publish: [
      ...appends('executor', pool),
      ...pulls(executorDurable(pool)),
      ...ARTIFACTS,
      any(liveSubject.of(ANY, ANY, 'output', ANY)),
      any(kvSubject(BUCKETS.registry, executorKey(pool, ANY))),
      any(kvSubject(BUCKETS.leases, leaseKey(pool, ANY))),
      ...bucketReads(BUCKETS.leases, any(leaseKey(pool, ANY))),
      rpcSubject.register('*', pool),
      rpcSubject.query('*', 'lane'),
      // Preflight is asked for by these two.
      inboxOf('validator'),
      inboxOf('policy-engine'),
    ],
    subscribe: [inboxOf(name), rpcSubject.preflight('*', pool), controlSubject.cancel('*', '*')],
  };
}

function engine(engineName: string): BrokerUser {
  const name = `engine-${engineName}`;
  return {
    name,
    zone: 'outside',
    publish: [inboxOf('policy-engine')],
    subscribe: [inboxOf(name), rpcSubject.evaluate(engineName)],
  };
}

/** People. They write to inbox lanes, ask, and are woken up; the log comes to them by queries. */
function client(): BrokerUser {
  return {
    name: 'client',
    zone: 'people',
    publish: [...appends('client'), ...ARTIFACTS, rpcSubject.query('*', '*')],
    subscribe: [inboxOf('client'), tailSubject.all, liveSubject.all],
  };
}

/** `doctor`: sees how everything is set, changes nothing. */
function operator(): BrokerUser {
  return {
    name: 'operator',
    zone: 'core',
    publish: [
      '$JS.API.INFO',
      '$JS.API.STREAM.LIST',
      '$JS.API.STREAM.INFO.*',
      '$JS.API.CONSUMER.LIST.*',
      '$JS.API.CONSUMER.INFO.*.*',
      rpcSubject.query('*', '*'),
    ],
    subscribe: [inboxOf('operator')],
  };
}

/** Reads everything, writes nothing. */
function analytics(): BrokerUser {
  return {
    name: 'analytics',
    zone: 'outside',
    publish: pulls({ stream: STREAMS.events, name: 'analytics', filters: [] }),
    subscribe: [inboxOf('analytics'), tailSubject.all],
  };
}
