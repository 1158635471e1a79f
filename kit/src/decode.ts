/**
 * From stored bytes to an entry of the log.
 *
 * C1. What is read never throws for its content: it is an event, or an `UnreadableEvent` with its reason.
 * C2. Bytes are hashed and parsed once; the signature is judged on the JSON as stored, before anything is restored.
 */
import {
  contractOf,
  type EventType,
  isToken,
  type LogEntry,
  parseEvent,
  parseEventSubject,
  type StoredEvent,
  type UnreadableEvent,
} from '@interlock/contracts';
import { fetchBytes } from './artifacts.ts';
import type { Bus } from './connection.ts';
import { sha256Hex } from './hashing.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { type KeyRing, verifyEnvelope } from './signing.ts';
import { isSpilled, restore } from './spill.ts';

/** Whose signatures a reader checks. */
export interface Verifier {
  readonly keys: KeyRing;
  /** Types it acts on; signed events of other types are `unchecked`. */
  readonly types: ReadonlySet<EventType> | 'all';
}

/** A stored message, as much of it as decoding needs. */
export interface RawMessage {
  readonly subject: string;
  readonly seq: number;
  readonly data: Uint8Array;
}

/**
 * Decodes a stored message. Never throws for its content.
 * @throws RetryableError `artifact_unavailable` when what is stored apart cannot be reached
 */
export async function decodeMessage(bus: Bus, message: RawMessage, verifier?: Verifier): Promise<LogEntry> {
  return decode(bus, message, verifier);
}

/** As `decodeMessage`, without a promise where nothing must be fetched. */
export function decode(bus: Bus, message: RawMessage, verifier?: Verifier): LogEntry | Promise<LogEntry> {
  const { data } = message;
  const hash = sha256Hex(data);
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return unreadable(message, hash, 'unreadable_event', 'not JSON');
  }
  if (!isObject(json)) return unreadable(message, hash, 'unreadable_event', 'not an object');
  const { data: inner } = json;
  return isSpilled(inner)
    ? decodeSpilled(bus, { message, hash, json, inner }, verifier)
    : finish({ message, hash, json }, json, verifier);
}

interface Decoding {
  readonly message: RawMessage;
  readonly hash: string;
  /** As stored. */
  readonly json: JsonObject;
}

async function decodeSpilled(
  bus: Bus,
  decoding: Decoding & { readonly inner: JsonObject },
  verifier: Verifier | undefined,
): Promise<LogEntry> {
  const { message, hash, json, inner } = decoding;
  const tenant = parseEventSubject(message.subject)?.tenant;
  if (tenant === undefined || !isToken(tenant))
    return unreadable(message, hash, 'unreadable_event', 'not a subject of an event');
  const restored = await restore(inner, (uri) => fetchBytes(bus, tenant, uri));
  if (!restored.ok) return unreadable(message, hash, restored.code, restored.reason);
  return finish(decoding, { ...json, data: restored.data }, verifier);
}

function finish(
  { message, hash, json }: Decoding,
  whole: JsonObject,
  verifier: Verifier | undefined,
): LogEntry {
  const { subject, seq } = message;
  const parsed = parseEvent(whole, subject);
  if (!parsed.ok) return unreadable(message, hash, parsed.code, parsed.reason);
  const { type, data } = parsed;
  const envelope = { ...parsed.envelope, data };
  const authenticity = judgeSignature(type, json, hash, verifier);
  return { type, seq, hash, subject, envelope, data, authenticity } as StoredEvent;
}

function judgeSignature(
  type: EventType,
  json: JsonObject,
  hash: string,
  verifier: Verifier | undefined,
): StoredEvent['authenticity'] {
  const { signed, appendedBy } = contractOf(type);
  if (!signed || !verifier || (verifier.types !== 'all' && !verifier.types.has(type))) return 'unchecked';
  return verifyEnvelope(json, hash, verifier.keys, appendedBy);
}

function unreadable(
  message: RawMessage,
  hash: string,
  code: UnreadableEvent['code'],
  reason: string,
): UnreadableEvent {
  return { type: 'unreadable', seq: message.seq, subject: message.subject, hash, code, reason };
}
