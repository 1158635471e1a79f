/**
 * Several events at once, all or none (ADR-50), each compared with the tail of its own lane. The raw protocol, because
 * the client's batch drops comparisons and hides the server's errors.
 */

import type { LaneTail, StoredEvent } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import { type EncodedEvent, encodeEvent, toStoredEvent } from '../encode.ts';
import { AppendUnconfirmedError } from '../errors.ts';
import { failpoint } from '../failpoint.ts';
import { randomText } from '../random.ts';
import type { AnyDraft, Writer } from '../writer.ts';
import { type AppendAddress, eventHeaders, readBackSafely } from './append.ts';
import { expectTail } from './expect.ts';
import { APPEND_TIMEOUT_MS, ATTEMPT_TIMEOUT_MS, type Attempt, pause, publishOnce } from './publish.ts';

export interface AtomicEntry {
  readonly lane: AppendAddress;
  readonly tail: LaneTail;
  readonly draft: AnyDraft;
}

export type AtomicResult = { readonly ok: true; readonly entries: StoredEvent[] } | { readonly ok: false };

interface Part extends AtomicEntry {
  readonly encoded: EncodedEvent;
}

/**
 * Appends events of one tenant in one atomic batch, in the order given; at most one per lane.
 * @throws as `append`
 */
export async function appendAtomic(
  bus: Bus,
  writer: Writer,
  entries: readonly AtomicEntry[],
): Promise<AtomicResult> {
  const parts = await Promise.all(
    entries.map(async (entry) => ({ ...entry, encoded: await encodeEvent(bus, writer, entry, entry.draft) })),
  );
  for (const { draft } of parts) failpoint('before-append', draft.type);
  const lastSeq = await appendParts(bus, writer, parts);
  if (lastSeq === null) {
    for (const { draft } of parts) writer.metrics?.conflicts.inc({ type: draft.type });
    return { ok: false };
  }
  for (const { draft } of parts) {
    failpoint('after-append', draft.type);
    writer.metrics?.appends.inc({ type: draft.type });
  }
  // A batch takes consecutive sequences.
  const firstSeq = lastSeq - parts.length + 1;
  return { ok: true, entries: parts.map(({ encoded }, index) => toStoredEvent(encoded, firstSeq + index)) };
}

/** Sequence of the last part; null on a conflict. */
async function appendParts(bus: Bus, writer: Writer, parts: readonly Part[]): Promise<number | null> {
  const last = parts.at(-1);
  if (!last) throw new TypeError('an atomic append of nothing');
  const deadline = performance.now() + APPEND_TIMEOUT_MS;
  let cause: unknown;
  for (let tries = 0; performance.now() < deadline; tries++) {
    const attempt = await publishBatch(bus, parts);
    if (attempt.kind === 'stored') return attempt.seq;
    if (attempt.kind === 'unknown') cause = attempt.cause;
    const found = await readBackParts(bus, writer, parts);
    if (found === 'mine') return seqOfLast(bus, writer, last);
    if (found === 'other') return null;
    if (found === 'nothing' && cause === undefined && tries >= CONFLICT_TRIES) return null;
    await pause(tries);
  }
  throw new AppendUnconfirmedError(last.encoded.subject, APPEND_TIMEOUT_MS, cause);
}

const CONFLICT_TRIES = 3;

async function publishBatch(bus: Bus, parts: readonly Part[]): Promise<Attempt> {
  // A new id for each try: a batch of the same id may still be open or be remembered as abandoned.
  const batchId = randomText(16, 'hex');
  if (!bus.connected() && !(await bus.whenConnected(ATTEMPT_TIMEOUT_MS))) {
    return { kind: 'unknown', cause: new Error('not connected') };
  }
  const publications = parts.map(({ lane, tail, encoded }, index) => {
    const head = eventHeaders(encoded.envelope.traceparent);
    expectTail(head, lane, tail.seq);
    head.set('Nats-Batch-Id', batchId);
    head.set('Nats-Batch-Sequence', String(index + 1));
    if (index === parts.length - 1) head.set('Nats-Batch-Commit', '1');
    return { subject: encoded.subject, bytes: encoded.bytes, headers: head };
  });
  const commit = publications.at(-1);
  if (!commit) throw new TypeError('an atomic append of nothing');
  // Parts before the last need no acknowledgement: the commit fails when one of them is missing or wrong.
  for (const { subject, bytes, headers } of publications.slice(0, -1))
    bus.nc.publish(subject, bytes, { headers });
  return publishOnce(bus, commit, ATTEMPT_TIMEOUT_MS);
}

async function readBackParts(
  bus: Bus,
  writer: Writer,
  parts: readonly Part[],
): Promise<'mine' | 'other' | 'nothing' | 'unreachable'> {
  for (const { lane, tail, encoded } of parts) {
    const found = await readBackSafely(bus, writer, { lane, afterSeq: tail.seq });
    if (found === 'unreachable') return found;
    // All or none: one that is mine stands for the rest.
    if (found !== null) return found.nonce === encoded.envelope.nonce ? 'mine' : 'other';
  }
  return 'nothing';
}

async function seqOfLast(bus: Bus, writer: Writer, { lane, tail, encoded }: Part): Promise<number> {
  const found = await readBackSafely(bus, writer, { lane, afterSeq: tail.seq });
  if (found === null || found === 'unreachable')
    throw new AppendUnconfirmedError(encoded.subject, APPEND_TIMEOUT_MS);
  return found.seq;
}
