/**
 * Appending to a journal: compare and set on the whole lane, with the lane's one canonical filter.
 *
 * L1. An append is stored once or not at all, however often it is published: the comparison fails for the second copy.
 * L2. After a conflict or a lost acknowledgement the lane is read at the leader: what follows the tail is mine (by its
 *     nonce), somebody else's, or nothing yet. Nothing is assumed.
 */
import {
  cellOf,
  type EventType,
  type LaneAddress,
  type LaneTail,
  laneFilter,
  type StoredEvent,
} from '@interlock/contracts';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { Bus } from '../connection.ts';
import { type EncodedEvent, encodeEvent, toStoredEvent } from '../encode.ts';
import { AppendUnconfirmedError } from '../errors.ts';
import { failpoint } from '../failpoint.ts';
import { isObject } from '../json-object.ts';
import { leaderGet } from '../stream-get.ts';
import type { AnyDraft, EventDraft, ReadBack, Writer } from '../writer.ts';
import { expectTail } from './expect.ts';
import { APPEND_TIMEOUT_MS, ATTEMPT_TIMEOUT_MS, isHopeless, pause, publishOnce } from './publish.ts';

/** An intent's lane may name the pool of pooled types. */
export type AppendAddress = LaneAddress & { readonly pool?: string | undefined };

export interface Appended {
  readonly ok: true;
  readonly entry: StoredEvent;
  /** The lane's tail now: what the next append compares with. */
  readonly tail: LaneTail;
}
/** Somebody else appended after the tail: fold again and decide anew. */
export interface Conflict {
  readonly ok: false;
}

/**
 * Appends one event to a journal (`s`, `i`, `sys`).
 * @param tail the last event of the lane as the decision saw it; `EMPTY_LANE` for none
 * @throws AppendUnconfirmedError after 20 seconds; RetryableError `log_full`, `append_unconfirmed`;
 *   TerminalError `message_too_large`; TypeError for a draft that breaks its contract
 */
// biome-ignore lint/complexity/useMaxParams: the one call every service makes; where, after what, and what.
export async function append<Type extends EventType>(
  bus: Bus,
  writer: Writer,
  lane: AppendAddress,
  tail: LaneTail,
  draft: EventDraft<Type>,
): Promise<Appended | Conflict> {
  const encoded = await encodeEvent(bus, writer, { lane, tail }, draft as AnyDraft);
  failpoint('before-append', draft.type);
  const seq = await appendEncoded(bus, writer, { lane, tail, encoded });
  if (seq === null) {
    writer.metrics?.conflicts.inc({ type: draft.type });
    return { ok: false };
  }
  failpoint('after-append', draft.type);
  writer.metrics?.appends.inc({ type: draft.type });
  return { ok: true, entry: toStoredEvent(encoded, seq), tail: { seq, hash: encoded.hash } };
}

interface LaneAppend {
  readonly lane: LaneAddress;
  readonly tail: LaneTail;
  readonly encoded: EncodedEvent;
}

/** The sequence; null on a conflict. */
async function appendEncoded(
  bus: Bus,
  writer: Writer,
  { lane, tail, encoded }: LaneAppend,
): Promise<number | null> {
  const { subject, bytes, envelope } = encoded;
  const head = eventHeaders(envelope.traceparent);
  expectTail(head, lane, tail.seq);
  const publication = { subject, bytes, headers: head };
  const deadline = performance.now() + APPEND_TIMEOUT_MS;
  let cause: unknown;
  for (let tries = 0; performance.now() < deadline; tries++) {
    const left = deadline - performance.now();
    const attempt = await publishOnce(bus, publication, Math.min(ATTEMPT_TIMEOUT_MS, left));
    if (attempt.kind === 'stored') return attempt.seq;
    if (attempt.kind === 'unknown') cause = attempt.cause;
    const found = await readBackSafely(bus, writer, { lane, afterSeq: tail.seq });
    if (found !== null && found !== 'unreachable') return found.nonce === envelope.nonce ? found.seq : null;
    // A conflict with nothing behind it: another append is still on its way, or the tail was ahead of the lane. Only
    // when no copy of mine can be on its way either is that an answer.
    if (found === null && cause === undefined && tries >= CONFLICT_TRIES) return null;
    await pause(tries);
  }
  throw new AppendUnconfirmedError(subject, APPEND_TIMEOUT_MS, cause);
}

/** How often an unexplained conflict is looked at again. */
const CONFLICT_TRIES = 3;

export function eventHeaders(traceparent: string | undefined): MsgHdrs {
  const head = headers();
  if (traceparent !== undefined) head.set('traceparent', traceparent);
  return head;
}

interface After {
  readonly lane: LaneAddress;
  readonly afterSeq: number;
}

/** The first event of the lane after a sequence. */
export async function readBackSafely(
  bus: Bus,
  writer: Writer,
  { lane, afterSeq }: After,
): Promise<ReadBack | null | 'unreachable'> {
  try {
    return await (writer.readBack ? writer.readBack(lane, afterSeq) : readBackAtLeader(bus, lane, afterSeq));
  } catch (error) {
    if (isHopeless(error)) throw error;
    return 'unreachable';
  }
}

async function readBackAtLeader(bus: Bus, lane: LaneAddress, afterSeq: number): Promise<ReadBack | null> {
  const stored = await leaderGet(bus, cellOf(lane.tenant), {
    seq: afterSeq + 1,
    next_by_subj: laneFilter(lane),
  });
  return stored === null ? null : { seq: stored.seq, nonce: nonceOf(stored.data) };
}

function nonceOf(data: Uint8Array): string | null {
  try {
    const json: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
    return isObject(json) && typeof json.nonce === 'string' ? json.nonce : null;
  } catch {
    // Not ours: ours is JSON.
    return null;
  }
}
