/**
 * The envelope of every event: CloudEvents 1.0 in structured JSON, stored as RFC 8785 canonical bytes.
 *
 * E1. `prevseq` and `prevhash` chain a lane: the stream sequence and the SHA-256 of the stored bytes of the event
 *     before this one in the same lane (`0` and 64 zeros for the first). Inbox (`u`) and side (`x`) lanes carry neither.
 * E2. `signature` is Ed25519 over the canonical bytes of the envelope without `signature`; `keyid` names the key.
 * E3. `nonce` is fresh for each append: a writer whose acknowledgement was lost finds its own event by it.
 * E4. `data` may be `{enc: …}`: an encrypted part. Folds treat what they cannot open as unreadable.
 */
import { z } from 'zod';
import { instantSchema, sha256Schema, tokenSchema, ulidSchema } from './ids.ts';

export const GENESIS_HASH = '0'.repeat(64);

/** An encrypted payload in place of `data`. Reserved for erasure by key destruction; nothing writes it yet. */
export const encryptedDataSchema = z.object({
  enc: z.object({
    alg: z.literal('A256GCM'),
    keyid: z.string(),
    iv: z.string(),
    ciphertext: z.string(),
  }),
});

/** Attributes of every event. Unknown attributes are allowed and dropped on reading; hashes cover the stored bytes. */
export const envelopeSchema = z.object({
  specversion: z.literal('1.0'),
  /** ULID, unique per event; repeats of a `u` event are dropped by it. */
  id: ulidSchema,
  /** A name of the contracts table, for example `tool.validated`; the version is in `dataschema`. */
  type: z.string(),
  /** `interlock/<service>/<instance>` */
  source: z.string().min(1),
  time: instantSchema,
  /** The NATS subject the event was appended to, so that a signature covers its place. */
  subject: z.string().min(1),
  datacontenttype: z.literal('application/json'),
  /** `urn:interlock:<type>:v<version>` */
  dataschema: z.string().regex(/^urn:interlock:[a-z._]+:v[1-9][0-9]*$/),
  tenant: tokenSchema,
  session: tokenSchema,
  /** Run id; absent before the first run and on registry events. */
  run: tokenSchema.optional(),
  /** Turn of the run, from 1. */
  turn: z.int().positive().optional(),
  intent: tokenSchema.optional(),
  /** The conversation: the session id. */
  correlationid: z.string().min(1),
  /** Id of the event that caused this one. */
  causationid: z.string().min(1).optional(),
  /** W3C trace context. */
  traceparent: z.string().optional(),
  prevseq: z.int().nonnegative().optional(),
  prevhash: sha256Schema.optional(),
  nonce: z.string().min(8),
  keyid: z.string().optional(),
  /** base64url */
  signature: z.string().optional(),
  data: z.unknown(),
});
export type Envelope = z.infer<typeof envelopeSchema>;

/** An envelope whose `data` has been parsed by the schema of its type and version. */
export interface TypedEnvelope<Data> extends Omit<Envelope, 'data'> {
  readonly data: Data;
}

export function toDataSchemaUri(type: string, version: number): string {
  return `urn:interlock:${type}:v${version}`;
}

/** Splits `urn:interlock:<type>:v<n>`; null when it is not one. */
export function parseDataSchemaUri(uri: string): { type: string; version: number } | null {
  const match = /^urn:interlock:([a-z._]+):v([1-9][0-9]*)$/.exec(uri);
  return match?.[1] && match[2] ? { type: match[1], version: Number(match[2]) } : null;
}
