/**
 * The only place where a subject is spelled. `v1` is the layout of subjects and never moves with message versions.
 *
 * S1. Every token is checked: a bad one throws `InvalidTokenError`, it never reaches the broker.
 * S2. One lane has one canonical compare-and-set filter (`laneFilter`): two spellings of a set both win on a cluster.
 * S3. Lanes never overlap.
 */
import { isToken, SYSTEM_SESSION } from './ids.ts';

/** `u` inbox, `s` session journal, `i` intent journal, `x` side facts, `sys` registry. */
export type LaneKind = 'u' | 's' | 'i' | 'x' | 'sys';

/** Where an event lives. `intent` is required for `i`; `pool` for types that are routed to a pool. */
export interface LaneAddress {
  readonly tenant: string;
  readonly session: string;
  readonly lane: LaneKind;
  readonly intent?: string | undefined;
}

export interface EventAddress extends LaneAddress {
  readonly type: string;
  readonly pool?: string | undefined;
}

export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError';
  readonly code = 'invalid_id';
  readonly token: string;
  constructor(token: string) {
    super(`"${token.slice(0, 80)}" is not a valid id: use 1 to 64 letters, digits, "_" or "-"`);
    this.token = token;
  }
}

const ROOT = 'ev.v1';

function token(value: string): string {
  if (!isToken(value)) throw new InvalidTokenError(value);
  return value;
}

function pattern(value: string): string {
  return value === '*' ? value : token(value);
}

/** Types routed to a pool: the pool is the last token of their subject. */
export const POOLED_TYPES: ReadonlySet<string> = new Set([
  'tool.approval.allowed',
  'tool.execution.started',
  'tool.execution.completed',
]);

function lanePrefix(address: LaneAddress, check: (value: string) => string): string {
  const head = `${ROOT}.${check(address.tenant)}.${check(address.session)}`;
  if (address.lane === 'sys') return `${ROOT}.${check(address.tenant)}.${SYSTEM_SESSION}`;
  if (address.lane === 'i') return `${head}.i.${check(address.intent ?? '')}`;
  return `${head}.${address.lane}`;
}

/** The subject of one event. */
export function eventSubject(address: EventAddress): string {
  const subject = `${lanePrefix(address, token)}.${address.type}`;
  return POOLED_TYPES.has(address.type) ? `${subject}.${token(address.pool ?? '')}` : subject;
}

/** Subscription filter for a type; `*` where any tenant, session, intent or pool will do. */
export function eventFilter(address: EventAddress): string {
  const subject = `${lanePrefix(address, pattern)}.${address.type}`;
  return POOLED_TYPES.has(address.type) ? `${subject}.${pattern(address.pool ?? '*')}` : subject;
}

/** The canonical compare-and-set filter of a lane. */
export function laneFilter(address: LaneAddress): string {
  return `${lanePrefix(address, token)}.>`;
}

/** All lanes of a session. */
export function sessionFilter(tenant: string, session: string): string {
  return `${ROOT}.${token(tenant)}.${token(session)}.>`;
}

export const ALL_EVENTS = `${ROOT}.>`;

/** Splits an event's subject; null when it is not one of ours (unknown layout, wrong token count). */
export function parseEventSubject(subject: string): EventAddress | null {
  const tokens = subject.split('.');
  const [ev, layout, tenant, session, lane] = tokens;
  if (ev !== 'ev' || layout !== 'v1' || !tenant || !session || !lane) return null;
  if (session === SYSTEM_SESSION) return { tenant, session, lane: 'sys', type: tokens.slice(4).join('.') };
  if (lane === 'i') {
    const intent = tokens[5];
    if (!intent || tokens.length < 7) return null;
    return { tenant, session, lane, intent, ...splitPool(tokens.slice(6)) };
  }
  if (lane !== 'u' && lane !== 's' && lane !== 'x') return null;
  return tokens.length < 6 ? null : { tenant, session, lane, ...splitPool(tokens.slice(5)) };
}

function splitPool(tokens: readonly string[]): { type: string; pool?: string } {
  const type = tokens.slice(0, -1).join('.');
  const pool = tokens.at(-1);
  return pool && POOLED_TYPES.has(type) ? { type, pool } : { type: tokens.join('.') };
}

/** The stream that holds a tenant's events. One cell today; callers never name the stream themselves. */
export function cellOf(_tenant: string): string {
  return STREAMS.events;
}

export const STREAMS = {
  events: 'EV',
  live: 'LIVE',
  blob: 'BLOB',
  timers: 'TM',
  deadLetters: 'DLQ',
} as const;
export const BUCKETS = { registry: 'registry', leases: 'lease' } as const;

/** Wake-up copies of events on core NATS (republished headers only), never the record. */
export const tailSubject = {
  all: 'tail.v1.>',
  session: (tenant: string, session: string): string => `tail.v1.${token(tenant)}.${token(session)}.>`,
  tenant: (tenant: string): string => `tail.v1.${token(tenant)}.>`,
};

/** One chunk of an artifact in `BLOB`. */
export const blobSubject = {
  chunk: (tenant: string, sha256: string, index: number): string =>
    `blob.v1.${token(tenant)}.${token(sha256)}.${index}`,
  all: 'blob.v1.>',
};

export type LiveKind = 'text' | 'output';
/** Live text of a model attempt or output of an execution; `id` is the attempt's or the intent's id. */
export const liveSubject = {
  of: (tenant: string, session: string, kind: LiveKind, id: string): string =>
    `live.v1.${token(tenant)}.${token(session)}.${kind}.${token(id)}`,
  session: (tenant: string, session: string): string => `live.v1.${token(tenant)}.${token(session)}.>`,
  all: 'live.v1.>',
};

/** What a timer is for; the service that set it receives it. */
export type TimerKind = 'approval' | 'watch' | 'deadline' | 'stream-cancel';
export const TIMER_OWNER: Record<TimerKind, 'policy-engine' | 'observer'> = {
  approval: 'policy-engine',
  watch: 'observer',
  deadline: 'observer',
  'stream-cancel': 'observer',
};

export interface TimerAddress {
  readonly kind: TimerKind;
  readonly tenant: string;
  readonly session: string;
  /** The thing that expires: the asked event's id, the run. */
  readonly id: string;
}

/** Schedules and their firings in `TM`. A later timer never replaces an earlier one of another thing. */
export const timerSubject = {
  schedule: (timer: TimerAddress): string =>
    `timer.v1.at.${timer.kind}.${token(timer.tenant)}.${token(timer.session)}.${token(timer.id)}`,
  fired: (timer: TimerAddress): string =>
    `timer.v1.due.${TIMER_OWNER[timer.kind]}.${timer.kind}.${token(timer.tenant)}.${token(timer.session)}.${token(timer.id)}`,
  firedFilter: (owner: 'policy-engine' | 'observer'): string => `timer.v1.due.${owner}.>`,
  all: 'timer.v1.>',
};

/** Splits the subject of a fired timer; null when it is not one. */
export function parseTimerSubject(subject: string): TimerAddress | null {
  const [root, layout, due, , kind, tenant, session, id, extra] = subject.split('.');
  if (root !== 'timer' || layout !== 'v1' || due !== 'due' || extra !== undefined) return null;
  if (!kind || !(kind in TIMER_OWNER) || !tenant || !session || !id) return null;
  return { kind: kind as TimerKind, tenant, session, id };
}

export type QueryName = 'events' | 'sessions' | 'state' | 'lane' | 'approvals' | 'registry';
export const rpcSubject = {
  preflight: (tenant: string, pool: string): string => `rpc.v1.${pattern(tenant)}.preflight.${pattern(pool)}`,
  register: (tenant: string, pool: string): string => `rpc.v1.${pattern(tenant)}.register.${pattern(pool)}`,
  evaluate: (engine: string): string => `rpc.v1.policy.evaluate.${pattern(engine)}`,
  query: (tenant: string, name: QueryName | '*'): string => `rpc.v1.${pattern(tenant)}.query.${name}`,
};

export const controlSubject = {
  cancel: (tenant: string, session: string): string => `ctl.v1.${pattern(tenant)}.${pattern(session)}.cancel`,
};

/** Key of an executor's presence in the `registry` bucket. */
export function executorKey(pool: string, instance: string): string {
  return `executor.${token(pool)}.${token(instance)}`;
}

/** Key of a claim's renewed lease in the `lease` bucket. */
export function leaseKey(pool: string, intent: string): string {
  return `${token(pool)}.${token(intent)}`;
}

/** KV entries are plain messages; services write them by publish so that a per-key TTL works through imports. */
export function kvSubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}
