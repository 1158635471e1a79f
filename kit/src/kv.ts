/**
 * Buckets by plain messages: the KV client needs rights and replies that an account with imports does not have.
 * Buckets have history 1; an entry that was deleted or has expired is not there.
 */
import { kvSubject } from '@interlock/contracts';
import { headers } from '@nats-io/transport-node';
import type { Bus } from './connection.ts';
import { publishConfirmed } from './lane/publish.ts';
import { directBatch, lastBySubject, type StoredMessage } from './stream-get.ts';

export interface KeyValue {
  readonly value: string;
  /** Sequence of the entry in the bucket's stream. */
  readonly revision: number;
}

export interface KeyEntry extends KeyValue {
  readonly key: string;
}

/** How long a write is tried: a lease that cannot be renewed in time must be known to be lost. */
const WRITE_TIMEOUT_MS = 5000;

/**
 * Writes an entry that disappears after `ttlMs`, rounded up to whole seconds (the server's least is one second).
 * @returns its revision
 * @throws AppendUnconfirmedError when the server does not confirm it within 5 seconds
 */
// biome-ignore lint/complexity/useMaxParams: where, what, and for how long.
export async function putWithTtl(
  bus: Bus,
  bucket: string,
  key: string,
  value: string,
  ttlMs: number,
): Promise<number> {
  const head = headers();
  head.set('Nats-TTL', `${Math.max(1, Math.ceil(ttlMs / 1000))}s`);
  return put(bus, { bucket, key, value, head });
}

/** Deletes an entry; one that is not there is deleted too. */
export async function deleteKey(bus: Bus, bucket: string, key: string): Promise<void> {
  const head = headers();
  head.set('KV-Operation', 'DEL');
  await put(bus, { bucket, key, value: '', head });
}

interface Put {
  readonly bucket: string;
  readonly key: string;
  readonly value: string;
  readonly head: ReturnType<typeof headers>;
}

async function put(bus: Bus, { bucket, key, value, head }: Put): Promise<number> {
  const publication = { subject: kvSubject(bucket, key), bytes: Buffer.from(value), headers: head };
  const result = await publishConfirmed(bus, publication, WRITE_TIMEOUT_MS);
  return result.kind === 'stored' ? result.seq : 0;
}

/** Reads an entry; null when there is none. Throws NATS's `TimeoutError` when no one answers. */
export async function getKey(bus: Bus, bucket: string, key: string): Promise<KeyValue | null> {
  const message = await lastBySubject(bus, `KV_${bucket}`, kvSubject(bucket, key));
  return message === null || isGone(message) ? null : toKeyValue(message);
}

/** All entries whose key begins with `prefix` and a dot (`''`: all), in the order they were written. */
export async function listEntries(bus: Bus, bucket: string, prefix: string): Promise<KeyEntry[]> {
  const root = kvSubject(bucket, '');
  const entries: KeyEntry[] = [];
  let fromSeq = 1;
  for (let pending = 1; pending > 0; ) {
    const filter = `${root}${prefix === '' ? '' : `${prefix}.`}>`;
    const batch = await directBatch(bus, { stream: `KV_${bucket}`, filter, fromSeq });
    for (const message of batch.messages) {
      fromSeq = message.seq + 1;
      if (!isGone(message)) entries.push({ key: message.subject.slice(root.length), ...toKeyValue(message) });
    }
    pending = batch.messages.length === 0 ? 0 : batch.pending;
  }
  return entries;
}

/** Keys that begin with `prefix` and a dot (`''`: all). */
export async function listKeys(bus: Bus, bucket: string, prefix: string): Promise<string[]> {
  return (await listEntries(bus, bucket, prefix)).map(({ key }) => key);
}

function toKeyValue(message: StoredMessage): KeyValue {
  return { value: Buffer.from(message.data).toString('utf8'), revision: message.seq };
}

/** A marker stands in the place of an entry that was deleted or has expired. */
function isGone({ headers: head }: StoredMessage): boolean {
  return head !== undefined && (head.has('KV-Operation') || head.has('Nats-Marker-Reason'));
}
