/**
 * The accepted examples are one log: in the order of their ids they are the stream, from sequence 1.
 *
 * A file whose name begins with `stray-` chains to the event before the tail, one with `forged-` is signed with the key
 * of somebody else; both are quarantined by a later example. All others must follow from what is before them.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import {
  type Authenticity,
  EMPTY_LANE,
  EVENTS,
  isEventType,
  type LaneTail,
  type LogEntry,
  laneFilter,
  parseEvent,
  parseEventSubject,
  type StoredEvent,
} from '../src/index.ts';
import { canonicalJson, sha256Hex } from './canonical.ts';
import { type Example, eventExamples } from './corpus.ts';

export type StoredJson = Record<string, unknown> & {
  id: string;
  type: string;
  subject: string;
  source: string;
};

export interface CorpusEntry {
  readonly seq: number;
  readonly path: string;
  readonly event: StoredJson;
}

/** The accepted examples in stream order. */
export function corpusLog(examples: readonly Example[] = eventExamples()): CorpusEntry[] {
  return examples
    .filter(({ verdict }) => verdict === 'accept')
    .map(({ path, json }) => ({ path, event: json as StoredJson }))
    .sort((a, b) => (a.event.id < b.event.id ? -1 : 1))
    .map((entry, index) => ({ ...entry, seq: index + 1 }));
}

/** Chains and signs the examples as a writer would have. Data, ids and times are left as they are. */
export function chained(log: readonly CorpusEntry[]): CorpusEntry[] {
  const tails = new Map<string, LaneTail[]>();
  return log.map(({ seq, path, event }) => {
    const address = parseEventSubject(event.subject);
    if (!address) throw new Error(`${path}: ${event.subject} is no subject`);
    const lane = laneFilter(address);
    const past = tails.get(lane) ?? [];
    const tail = (isNamed(path, 'stray') ? past.at(-2) : past.at(-1)) ?? EMPTY_LANE;
    const chainless = address.lane === 'u' || address.lane === 'x';
    const sealed = seal(path, {
      ...event,
      ...(chainless ? {} : { prevseq: tail.seq, prevhash: tail.hash }),
    });
    tails.set(lane, [...past, { seq, hash: hashOf(sealed) }]);
    return { seq, path, event: sealed };
  });
}

/** The log as a fold reads it, each signature checked against the key that the source would have. */
export function storedEntries(log: readonly CorpusEntry[]): LogEntry[] {
  return log.map(({ seq, path, event }) => {
    const parsed = parseEvent(event, event.subject);
    if (!parsed.ok) throw new Error(`${path}: ${parsed.reason}`);
    const { type, envelope, data } = parsed;
    return {
      seq,
      hash: hashOf(event),
      subject: event.subject,
      type,
      envelope: { ...envelope, data },
      data,
      authenticity: authenticityOf(event),
    } as StoredEvent;
  });
}

/** The public test key of a source (`interlock/<service>/<instance>`), and its id. */
function testKey(source: string): { keyid: string; publicKey: string; privateKey: KeyObject } {
  const seed = Buffer.from(sha256Hex(`interlock corpus ${source.split('/')[1]}`), 'hex');
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { keyid: sha256Hex(x).slice(0, 16), publicKey: x, privateKey };
}

function seal(path: string, event: StoredJson): StoredJson {
  if (!isEventType(event.type) || !EVENTS[event.type].signed) return event;
  const { keyid, privateKey } = testKey(isNamed(path, 'forged') ? 'interlock/nobody/01' : event.source);
  const { signature: _old, ...unsigned } = { ...event, keyid } as StoredJson;
  return {
    ...unsigned,
    signature: sign(null, bytesOf(unsigned), privateKey).toString('base64url'),
  } as StoredJson;
}

function authenticityOf(event: StoredJson): Authenticity {
  if (!isEventType(event.type) || !EVENTS[event.type].signed) return 'verified';
  const { signature, ...unsigned } = event;
  const { keyid, privateKey } = testKey(event.source);
  if (typeof signature !== 'string' || event.keyid !== keyid) return 'forged';
  const good = verify(
    null,
    bytesOf(unsigned),
    createPublicKey(privateKey),
    Buffer.from(signature, 'base64url'),
  );
  return good ? 'verified' : 'forged';
}

function isNamed(path: string, prefix: string): boolean {
  return (path.split('/').at(-1) ?? '').startsWith(`${prefix}-`);
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(canonicalJson(value));
}

function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}
