/**
 * What the house keeps at the server, as the server spells it. Pure: the same options give the same topology.
 *
 * T1. `EV` is the record: it forgets nothing. No age, no deletion, no purge, and a full stream refuses the new message.
 * T2. `EV` has neither schedules nor TTLs nor rollups: asking for schedules turns `deny_purge` off without a word.
 * T3. Every consumer is here; nobody but the event-store makes one.
 */
import {
  ACK_WAIT_MS,
  ALL_EVENTS,
  BUCKETS,
  blobSubject,
  DURABLES,
  type Durable,
  executorDurable,
  isToken,
  kvSubject,
  liveSubject,
  STREAMS,
  tailSubject,
  timerSubject,
} from '@interlock/contracts';

/** `dev` one copy; `ha` three; `durable` three, on servers that sync every write (a setting of theirs, not ours). */
export const PROFILES = ['dev', 'ha', 'durable'] as const;
export type Profile = (typeof PROFILES)[number];

/** Upper limits, in bytes. A full `EV`, `BLOB` or `TM` refuses; `LIVE` and `DLQ` forget their oldest. */
export interface StreamLimits {
  readonly eventsBytes: number;
  readonly blobBytes: number;
  readonly liveBytes: number;
  readonly timersBytes: number;
  readonly deadLettersBytes: number;
  readonly bucketBytes: number;
}

export interface TopologyOptions {
  readonly profile: Profile;
  /** Executor pools that have a durable from the start; others get theirs when they register. */
  readonly pools: readonly string[];
  readonly limits: StreamLimits;
  /** A durable `analytics` over all events, for readers outside the house. */
  readonly analytics: boolean;
}

/** A stream as the JetStream API takes it. Durations in nanoseconds. What is absent is left as the server has it. */
export interface StreamConfig {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly [option: string]: unknown;
}

/** A consumer as the JetStream API takes it. */
export interface ConsumerConfig {
  readonly durable_name: string;
  readonly [option: string]: unknown;
}

export interface WantedConsumer {
  readonly stream: string;
  readonly config: ConsumerConfig;
}

export interface Topology {
  readonly streams: readonly StreamConfig[];
  readonly consumers: readonly WantedConsumer[];
}

const NS_PER_MS = 1_000_000;
/** The least the server takes. Nothing on these streams is published with a message id. */
const NO_DUPLICATE_WINDOW = 100 * NS_PER_MS;
/** Live text is of use while it is read, and a client that reconnects looks at the log. */
const LIVE_AGE_MS = 120_000;
/** How long a dead letter waits for the event-store. */
const DEAD_LETTER_AGE_MS = 30 * 24 * 3_600_000;
/** Deliveries out at a time over all replicas: enough for many of them, and a bound for one that hangs. */
const MAX_ACK_PENDING = 1024;

export const ANALYTICS_DURABLE: Durable = {
  name: 'analytics',
  stream: STREAMS.events,
  filters: [ALL_EVENTS],
};

/** Advisories that make a dead letter of a message of `stream`. */
const deadLetterSubjects = (stream: string): string[] => [
  `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream}.>`,
  `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${stream}.>`,
];

/** Copies of each stream and consumer. */
function replicasOf(profile: Profile): number {
  return profile === 'dev' ? 1 : 3;
}

/** All streams, buckets and consumers of the house. */
export function topologyOf(options: TopologyOptions): Topology {
  const copies = replicasOf(options.profile);
  const pools = [...new Set(options.pools)].sort();
  const durables: Durable[] = [
    ...Object.values(DURABLES),
    ...pools.map(executorDurable),
    ...(options.analytics ? [ANALYTICS_DURABLE] : []),
  ];
  return {
    streams: streamsOf(options.limits).map((stream) => ({ ...stream, num_replicas: copies })),
    consumers: durables.map((durable) => consumerOf(durable, options.profile)),
  };
}

/** The consumer of a durable. */
export function consumerOf(durable: Durable, profile: Profile): WantedConsumer {
  const [only, ...more] = durable.filters;
  const filter =
    more.length > 0
      ? { filter_subjects: durable.filters }
      : only === undefined
        ? {}
        : { filter_subject: only };
  return {
    stream: durable.stream,
    config: {
      durable_name: durable.name,
      deliver_policy: 'all',
      replay_policy: 'instant',
      ack_policy: 'explicit',
      ack_wait: ACK_WAIT_MS * NS_PER_MS,
      // Without end: the kit's loop terms what is poison, and says so; a message that is merely late must not be lost.
      max_deliver: -1,
      max_ack_pending: MAX_ACK_PENDING,
      num_replicas: replicasOf(profile),
      ...filter,
    },
  };
}

/** The pool whose durable this is; null for any other consumer. */
export function poolOfDurable(name: string): string | null {
  const pool = /^executor-(.+)$/.exec(name)?.[1];
  return pool !== undefined && isToken(pool) ? pool : null;
}

function streamsOf(limits: StreamLimits): StreamConfig[] {
  return [
    {
      name: STREAMS.events,
      subjects: [ALL_EVENTS],
      storage: 'file',
      retention: 'limits',
      discard: 'new',
      max_bytes: limits.eventsBytes,
      max_age: 0,
      max_msgs: -1,
      max_msgs_per_subject: -1,
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
      allow_atomic: true,
      allow_rollup_hdrs: false,
      allow_msg_ttl: false,
      allow_msg_schedules: false,
      compression: 's2',
      duplicate_window: NO_DUPLICATE_WINDOW,
      republish: { src: ALL_EVENTS, dest: tailSubject.all, headers_only: true },
    },
    {
      name: STREAMS.live,
      subjects: [liveSubject.all],
      storage: 'memory',
      retention: 'limits',
      discard: 'old',
      max_bytes: limits.liveBytes,
      max_age: LIVE_AGE_MS * NS_PER_MS,
      allow_direct: true,
      duplicate_window: NO_DUPLICATE_WINDOW,
    },
    {
      name: STREAMS.blob,
      subjects: [blobSubject.all],
      storage: 'file',
      retention: 'limits',
      discard: 'new',
      max_bytes: limits.blobBytes,
      max_age: 0,
      max_msgs: -1,
      max_msgs_per_subject: -1,
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
      compression: 's2',
      duplicate_window: NO_DUPLICATE_WINDOW,
    },
    {
      name: STREAMS.timers,
      subjects: [timerSubject.all],
      storage: 'file',
      // A timer that fired is gone once its owner acknowledged it; a schedule, which no consumer takes, stays.
      retention: 'workqueue',
      discard: 'old',
      max_bytes: limits.timersBytes,
      max_age: 0,
      max_msgs_per_subject: 1,
      allow_direct: true,
      allow_msg_schedules: true,
      duplicate_window: NO_DUPLICATE_WINDOW,
    },
    {
      name: STREAMS.deadLetters,
      subjects: [...deadLetterSubjects(STREAMS.events), ...deadLetterSubjects(STREAMS.timers)],
      storage: 'file',
      retention: 'limits',
      discard: 'old',
      max_bytes: limits.deadLettersBytes,
      max_age: DEAD_LETTER_AGE_MS * NS_PER_MS,
      allow_direct: true,
      duplicate_window: NO_DUPLICATE_WINDOW,
    },
    ...Object.values(BUCKETS).map((bucket) => bucketOf(bucket, limits.bucketBytes)),
  ];
}

/** A bucket with history 1 (more would lengthen its TTLs) and a TTL per key. */
function bucketOf(bucket: string, maxBytes: number): StreamConfig {
  return {
    name: `KV_${bucket}`,
    subjects: [kvSubject(bucket, '>')],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    max_bytes: maxBytes,
    max_age: 0,
    max_msgs_per_subject: 1,
    allow_direct: true,
    allow_msg_ttl: true,
    allow_rollup_hdrs: true,
    deny_delete: true,
    duplicate_window: NO_DUPLICATE_WINDOW,
  };
}
