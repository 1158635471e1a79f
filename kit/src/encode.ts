/**
 * From a draft to stored bytes.
 *
 * E1. What is written is what its schema makes of it: unknown keys gone, defaults filled in, canonical bytes.
 * E2. What is too large for a message is stored, and acknowledged, before the bytes that refer to it exist.
 */
import {
  contractOf,
  type Envelope,
  type EventType,
  eventSubject,
  type LaneAddress,
  type LaneTail,
  type StoredEvent,
  SYSTEM_SESSION,
  toDataSchemaUri,
} from '@interlock/contracts';
import { putBytes } from './artifacts.ts';
import type { Bus } from './connection.ts';
import { TerminalError } from './errors.ts';
import { sha256Hex } from './hashing.ts';
import type { JsonObject } from './json-object.ts';
import { HARD_LIMIT, HEADER_ROOM, MESSAGE_LIMIT } from './limits.ts';
import type { Signer } from './signing.ts';
import { spill } from './spill.ts';
import type { AnyDraft, Writer } from './writer.ts';

/** Where a draft goes. */
export interface Place {
  readonly lane: LaneAddress & { readonly pool?: string | undefined };
  /** The event before it; absent on lanes without a chain. */
  readonly tail?: LaneTail | undefined;
}

/** An event as bytes. */
export interface EncodedEvent {
  readonly type: EventType;
  readonly subject: string;
  readonly envelope: Envelope;
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/**
 * Makes the bytes of an event; stores first what is too large for them.
 * @throws TerminalError `message_too_large`; RetryableError when `BLOB` does not take what is stored apart; TypeError
 *   for a draft that does not fit its contract, which is a bug
 */
export async function encodeEvent(
  bus: Bus,
  writer: Writer,
  place: Place,
  draft: AnyDraft,
): Promise<EncodedEvent> {
  const data = checkDraft(writer, place, draft);
  const attributes = attributesOf(writer, place, draft);
  const { text, blobs } = spill(data, MESSAGE_LIMIT - HEADER_ROOM - JSON.stringify(attributes).length);
  await Promise.all(blobs.map(({ sha256, bytes }) => putBytes(bus, place.lane.tenant, sha256, bytes)));
  const signer = contractOf(draft.type).signed ? writer.signer : undefined;
  const complete = signer ? signed(attributes, text, signer) : attributes;
  const bytes = Buffer.from(envelopeText(complete, text));
  if (bytes.length + HEADER_ROOM > HARD_LIMIT) {
    throw new TerminalError('message_too_large', `${draft.type} of ${bytes.length} bytes`);
  }
  const { subject } = complete;
  return { type: draft.type, subject, envelope: { ...complete, data }, bytes, hash: sha256Hex(bytes) };
}

function checkDraft(writer: Writer, { lane }: Place, draft: AnyDraft): JsonObject {
  const contract = contractOf(draft.type);
  if (contract.lane !== lane.lane) throw new TypeError(`${draft.type} does not belong on lane ${lane.lane}`);
  if (contract.signed && !writer.signer)
    throw new TypeError(`${draft.type} must be signed and ${writer.service} has no key`);
  const parsed = contract.schema.safeParse(draft.data);
  if (!parsed.success) throw new TypeError(`${draft.type}: ${parsed.error.message}`, { cause: parsed.error });
  return parsed.data as JsonObject;
}

type Attributes = Omit<Envelope, 'data'>;

function attributesOf(writer: Writer, { lane, tail }: Place, draft: AnyDraft): Attributes {
  const session = lane.lane === 'sys' ? SYSTEM_SESSION : lane.session;
  return {
    specversion: '1.0',
    id: draft.id ?? writer.ids.ulid(),
    type: draft.type,
    source: `interlock/${writer.service}/${writer.instance}`,
    time: writer.clock.now().toISOString(),
    subject: eventSubject({ ...lane, type: draft.type }),
    datacontenttype: 'application/json',
    dataschema: toDataSchemaUri(draft.type, contractOf(draft.type).version),
    tenant: lane.tenant,
    session,
    correlationid: session,
    nonce: writer.ids.nonce(),
    ...(lane.lane === 'i' ? { intent: lane.intent } : {}),
    ...(tail ? { prevseq: tail.seq, prevhash: tail.hash } : {}),
    ...given({
      run: draft.run,
      turn: draft.turn,
      causationid: draft.causationid,
      traceparent: draft.traceparent,
    }),
  };
}

function given(fields: Partial<Attributes>): Partial<Attributes> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Canonical JSON of an envelope whose `data` is canonical text already; attributes are strings and integers. */
function envelopeText(fields: Attributes, data: string): string {
  const members = Object.entries(fields).map(([key, value]) => [key, JSON.stringify(value)] as const);
  const sorted = [...members, ['data', data] as const].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, value]) => `"${key}":${value}`).join(',')}}`;
}

function signed(fields: Attributes, data: string, signer: Signer): Attributes {
  const claimed = { ...fields, keyid: signer.keyid };
  return { ...claimed, signature: signer.sign(Buffer.from(envelopeText(claimed, data))) };
}

/** An own append as the fold would read it. */
export function toStoredEvent(encoded: EncodedEvent, seq: number): StoredEvent {
  const { type, subject, envelope, hash } = encoded;
  return { type, seq, hash, subject, envelope, data: envelope.data, authenticity: 'verified' } as StoredEvent;
}
