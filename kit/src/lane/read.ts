/**
 * Reading the log.
 *
 * R1. Entries come in sequence order and without gaps up to the last one given: a follower that lags holds a prefix.
 * R2. `throughSeq` is reached or the leader was asked: a reader never mistakes a lagging follower for an empty log.
 */
import { cellOf, type LogEntry } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import { decode, type Verifier } from '../decode.ts';
import { directBatch, leaderGet, type StoredMessage } from '../stream-get.ts';

export interface Range {
  /** Subject or wildcard of one tenant: `laneFilter`, `sessionFilter`, a subject. */
  readonly filter: string;
  /** First sequence wanted. */
  readonly fromSeq: number;
  /** Last sequence wanted; default: as far as there is. */
  readonly throughSeq?: number | undefined;
  /** Entries wanted at most; default: all. */
  readonly limit?: number | undefined;
  /** Go on at the leader to the present end. Default false: whichever replica answers, as far as it knows. */
  readonly leader?: boolean | undefined;
}

/**
 * Reads a range and decodes it. An empty range is an empty list.
 * @throws NATS's `TimeoutError` when no one answers; RetryableError `artifact_unavailable`
 */
export async function readRange(bus: Bus, range: Range, verifier?: Verifier): Promise<LogEntry[]> {
  const messages = await readMessages(bus, range);
  return Promise.all(messages.map((message) => decode(bus, message, verifier)));
}

/** The first event on a subject (or wildcard); null when the leader has none. */
export async function readFirst(bus: Bus, subject: string, verifier?: Verifier): Promise<LogEntry | null> {
  const [entry] = await readRange(bus, { filter: subject, fromSeq: 1, limit: 1, leader: true }, verifier);
  return entry ?? null;
}

/** The last event on a subject (or wildcard), at the leader; null when there is none. */
export async function readLast(bus: Bus, subject: string, verifier?: Verifier): Promise<LogEntry | null> {
  const message = await leaderGet(bus, streamOf(subject), { last_by_subj: subject });
  return message === null ? null : decode(bus, message, verifier);
}

/** Events of most sessions. */
const FIRST_BATCH = 128;

/** As `readRange`, undecoded. */
export async function readMessages(bus: Bus, range: Range): Promise<StoredMessage[]> {
  const { filter, fromSeq, throughSeq = Number.MAX_SAFE_INTEGER, limit = Number.MAX_SAFE_INTEGER } = range;
  const stream = streamOf(filter);
  const found: StoredMessage[] = [];
  let from = Math.max(1, fromSeq);
  let pending = 1;
  while (pending > 0 && from <= throughSeq && found.length < limit) {
    // There are no more messages than sequences, so a short range is one short batch.
    const wanted = Math.min(limit - found.length, throughSeq - from + 1);
    // The server has no upper bound for a range: a long session is not read to its end to fold its beginning.
    const size = found.length === 0 ? FIRST_BATCH : 1024;
    const batch = await directBatch(bus, { stream, filter, fromSeq: from, limit: Math.min(wanted, size) });
    for (const message of batch.messages) {
      if (message.seq <= throughSeq) found.push(message);
      from = message.seq + 1;
    }
    pending = batch.messages.length === 0 ? 0 : batch.pending;
  }
  const open = range.throughSeq === undefined ? range.leader === true : from <= throughSeq;
  if (open && found.length < limit)
    await readOnAtLeader(bus, { stream, filter, from, throughSeq, limit, found });
  return found;
}

/** True when the leader holds nothing of the filter from a sequence on. */
export async function isEmptyAtLeader(
  bus: Bus,
  { filter, fromSeq }: Pick<Range, 'filter' | 'fromSeq'>,
): Promise<boolean> {
  return (await leaderGet(bus, streamOf(filter), { seq: fromSeq, next_by_subj: filter })) === null;
}

interface LeaderRead {
  readonly stream: string;
  readonly filter: string;
  readonly from: number;
  readonly throughSeq: number;
  readonly limit: number;
  readonly found: StoredMessage[];
}

async function readOnAtLeader(bus: Bus, read: LeaderRead): Promise<void> {
  const { stream, filter, throughSeq, limit, found } = read;
  let { from } = read;
  while (from <= throughSeq && found.length < limit) {
    const message = await leaderGet(bus, stream, { seq: from, next_by_subj: filter });
    if (message === null || message.seq > throughSeq) return;
    found.push(message);
    from = message.seq + 1;
  }
}

function streamOf(filter: string): string {
  return cellOf(filter.split('.')[2] ?? '');
}
