/**
 * Builds logs for tests of folds: stored events with sequences, chained lanes and real hashes, each parsed by its
 * contract. What is not said is taken from what went before: the run, the turn, the tail of the lane.
 */
import {
  type Authenticity,
  type ConversationState,
  EMPTY_LANE,
  EVENTS,
  type EventInput,
  type EventType,
  eventSubject,
  evolve,
  fold,
  initialState,
  type LaneKind,
  type LaneTail,
  type LogEntry,
  laneFilter,
  POOLED_TYPES,
  parseEvent,
  type StoredEvent,
  SYSTEM_SESSION,
  toDataSchemaUri,
  type UnreadableEvent,
} from '../src/index.ts';
import { canonicalJson, sha256Hex } from './canonical.ts';

const START_MS = Date.UTC(2026, 10, 30, 12, 0, 0);
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** What an event says beside its data. Everything has a default. */
export interface AppendOptions {
  readonly intent?: string;
  readonly run?: string;
  readonly turn?: number;
  readonly id?: string;
  readonly causationid?: string;
  /** Milliseconds since the event before it. Default 10. */
  readonly afterMs?: number;
  /** What the event chains to. Default: the tail of its lane. */
  readonly tail?: LaneTail;
  /** Default `verified`. */
  readonly authenticity?: Authenticity;
  /** Signs or changes the envelope before it is hashed. */
  readonly seal?: (envelope: Record<string, unknown>) => Record<string, unknown>;
}

/** Makes a ULID of a time and a counter. */
export function ulidOf(timeMs: number, counter: number): string {
  return encode(timeMs, 10) + encode(counter, 16);
}

function encode(value: number, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = (CROCKFORD[rest % 32] ?? '0') + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

export class LogBuilder {
  readonly tenant: string;
  readonly session: string;
  readonly entries: LogEntry[] = [];
  /** The envelopes as stored, in the order of `entries`; null for what is unreadable. */
  readonly envelopes: (Record<string, unknown> | null)[] = [];
  readonly #tails = new Map<string, LaneTail>();
  #nowMs = START_MS;
  #state: ConversationState;

  constructor(tenant = 'local', session = 'demo') {
    this.tenant = tenant;
    this.session = session;
    this.#state = initialState(tenant, session);
  }

  /** The sequence of the last entry; 0 before the first. */
  get seq(): number {
    return this.entries.length;
  }

  /** Appends an event to its lane. Throws when it does not parse as its type. */
  append<Type extends EventType>(
    type: Type,
    data: EventInput<Type>,
    options: AppendOptions = {},
  ): Extract<StoredEvent, { type: Type }> {
    const { lane } = EVENTS[type];
    const subject = this.#subject(type, data, options);
    const envelope = this.#envelope(type, data, subject, options);
    const sealed = options.seal?.(envelope) ?? envelope;
    const parsed = parseEvent(JSON.parse(JSON.stringify(sealed)), subject);
    if (!parsed.ok) throw new Error(`${type} does not parse: ${parsed.code}: ${parsed.reason}`);
    const entry = {
      seq: this.seq + 1,
      hash: sha256Hex(canonicalJson(sealed)),
      subject,
      type,
      envelope: { ...parsed.envelope, data: parsed.data },
      data: parsed.data,
      authenticity: options.authenticity ?? 'verified',
    } as StoredEvent;
    this.#store(entry, lane, options.intent, sealed);
    return entry as Extract<StoredEvent, { type: Type }>;
  }

  /** Stores something that nobody can read on a lane. */
  junk(lane: LaneKind, intent?: string): UnreadableEvent {
    const subject = `${this.#lane(lane, intent).slice(0, -1)}junk`;
    const hash = sha256Hex(`junk ${this.seq + 1}`);
    const entry: UnreadableEvent = {
      seq: this.seq + 1,
      hash,
      subject,
      type: 'unreadable',
      code: 'unreadable_event',
      reason: 'junk',
    };
    this.#store(entry, lane, intent, null);
    return entry;
  }

  /** The last stored event of a lane. */
  tail(lane: LaneKind, intent?: string): LaneTail {
    return this.#tails.get(this.#lane(lane, intent)) ?? EMPTY_LANE;
  }

  /** The fold of the log: as it stands, folded step by step; through a sequence, folded from the start. */
  state(throughSeq?: number): ConversationState {
    if (throughSeq === undefined) return this.#state;
    return fold(initialState(this.tenant, this.session), this.entries.slice(0, throughSeq));
  }

  #envelope(
    type: EventType,
    data: unknown,
    subject: string,
    options: AppendOptions,
  ): Record<string, unknown> {
    const { lane, version, appendedBy } = EVENTS[type];
    this.#nowMs += options.afterMs ?? 10;
    const counter = this.seq + 1;
    const underWay = this.#state.run;
    const id = options.id ?? ulidOf(this.#nowMs, counter);
    const run =
      options.run ?? (type === 'run.started' ? ulidOf(this.#nowMs, 1_000_000 + counter) : underWay?.id);
    const turn = options.turn ?? (type === 'model.requested' ? (underWay?.turn ?? 0) + 1 : underWay?.turn);
    const tail = options.tail ?? this.tail(lane, options.intent);
    const ofRun = lane === 's' || lane === 'i';
    return {
      specversion: '1.0',
      id,
      type,
      source: `interlock/${appendedBy[0]}/01`,
      time: new Date(this.#nowMs).toISOString(),
      subject,
      datacontenttype: 'application/json',
      dataschema: toDataSchemaUri(type, version),
      tenant: this.tenant,
      session: lane === 'sys' ? SYSTEM_SESSION : this.session,
      ...(ofRun && run ? { run } : {}),
      ...(ofRun && turn ? { turn } : {}),
      ...(options.intent ? { intent: options.intent } : {}),
      correlationid: this.session,
      ...(options.causationid ? { causationid: options.causationid } : {}),
      ...(lane === 'u' || lane === 'x' ? {} : { prevseq: tail.seq, prevhash: tail.hash }),
      nonce: `nonce-${String(counter).padStart(8, '0')}`,
      data,
    };
  }

  #subject(type: EventType, data: unknown, options: AppendOptions): string {
    const { pool, invocation } = data as { pool?: string; invocation?: { pool: string } };
    return eventSubject({
      tenant: this.tenant,
      session: this.session,
      lane: EVENTS[type].lane,
      intent: options.intent,
      type,
      pool: POOLED_TYPES.has(type) ? (invocation?.pool ?? pool) : undefined,
    });
  }

  #lane(lane: LaneKind, intent?: string): string {
    return laneFilter({ tenant: this.tenant, session: this.session, lane, intent });
  }

  #store(
    entry: LogEntry,
    lane: LaneKind,
    intent: string | undefined,
    envelope: Record<string, unknown> | null,
  ): void {
    this.entries.push(entry);
    this.#state = evolve(this.#state, entry);
    this.envelopes.push(envelope);
    this.#tails.set(this.#lane(lane, intent), { seq: entry.seq, hash: entry.hash });
  }
}
