/**
 * An event as a fold sees it: parsed, placed in the stream, its signature judged by the reader.
 */
import { type Envelope, envelopeSchema, parseDataSchemaUri, type TypedEnvelope } from './envelope.ts';
import type { ErrorCode } from './errors.ts';
import { contractOf, type EventData, type EventType, isEventType } from './registry.ts';
import { POOLED_TYPES, parseEventSubject } from './subjects.ts';
import { readData } from './versions.ts';

/** `unchecked`: this reader does not act on the signature (see `docs/decisions/0005-who-verifies.md`). */
export type Authenticity = 'verified' | 'unchecked' | 'forged';

interface StoredBase {
  /** Stream sequence. */
  readonly seq: number;
  /** SHA-256 of the stored bytes. */
  readonly hash: string;
  readonly subject: string;
}

/** A readable event of a known type. */
export interface StoredEventOf<Type extends EventType> extends StoredBase {
  readonly type: Type;
  readonly envelope: TypedEnvelope<EventData<Type>>;
  readonly data: EventData<Type>;
  readonly authenticity: Authenticity;
}
export type StoredEvent = { [Type in EventType]: StoredEventOf<Type> }[EventType];

/** A stored message that no fold can read. It still counts in the chain of its lane. */
export interface UnreadableEvent extends StoredBase {
  readonly type: 'unreadable';
  readonly code: ErrorCode;
  readonly reason: string;
}

export type LogEntry = StoredEvent | UnreadableEvent;

/** Narrows an entry to a type. */
export function isEvent<Type extends EventType>(
  entry: LogEntry,
  type: Type,
): entry is Extract<StoredEvent, { type: Type }> {
  return entry.type === type;
}

export type ParsedEvent =
  | { readonly ok: true; readonly type: EventType; readonly envelope: Envelope; readonly data: unknown }
  | { readonly ok: false; readonly code: ErrorCode; readonly reason: string };

/**
 * Parses an envelope (already JSON, large fields already restored) against the contract of its type and checks that
 * the envelope stands where it says it stands. Total: never throws.
 */
export function parseEvent(json: unknown, subject: string): ParsedEvent {
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) return refuse('unreadable_event', firstIssue(envelope.error));
  const { type, dataschema } = envelope.data;
  if (!isEventType(type)) return refuse('unknown_type', `no type "${type.slice(0, 80)}"`);
  const version = parseDataSchemaUri(dataschema);
  if (version?.type !== type) return refuse('unreadable_event', `dataschema does not name "${type}"`);
  const contract = contractOf(type);
  if (version.version > contract.version)
    return refuse('unknown_version', `${type} version ${version.version}`);
  const misplaced = placeError(envelope.data, subject, contract.lane);
  if (misplaced) return refuse('unreadable_event', misplaced);
  const data = readData(contract, version.version, envelope.data.data);
  if (!data.success) return refuse('unreadable_event', `data${firstIssue(data.error)}`);
  if (POOLED_TYPES.has(type) && poolOf(data.data) !== parseEventSubject(subject)?.pool)
    return refuse('unreadable_event', 'pool differs from its subject');
  return { ok: true, type, envelope: envelope.data, data: data.data };
}

function placeError(envelope: Envelope, subject: string, lane: string): string | null {
  if (envelope.subject !== subject) return 'stored under another subject than it names';
  const address = parseEventSubject(subject);
  if (!address || address.type !== envelope.type || address.lane !== lane)
    return 'its type does not belong on this subject';
  if (address.tenant !== envelope.tenant || address.session !== envelope.session)
    return 'tenant or session differ from its subject';
  if (address.lane === 'i' && address.intent !== envelope.intent) return 'intent differs from its subject';
  return null;
}

function poolOf(data: unknown): string | undefined {
  const { pool, invocation } = data as { pool?: string; invocation?: { pool: string } };
  return invocation?.pool ?? pool;
}

function firstIssue(error: { issues: readonly { path: PropertyKey[]; message: string }[] }): string {
  const issue = error.issues[0];
  return issue ? `/${issue.path.map(String).join('/')}: ${issue.message}` : 'does not parse';
}

function refuse(code: ErrorCode, reason: string): ParsedEvent {
  return { ok: false, code, reason };
}
