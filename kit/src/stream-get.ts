/**
 * Reading stored messages without a consumer, as the server offers it: direct get (any replica answers, a follower
 * may lag) and `MSG.GET` (the leader answers).
 */
import { type Msg, type MsgHdrs, headers as newHeaders, TimeoutError } from '@nats-io/transport-node';
import type { Bus } from './connection.ts';
import { RetryableError } from './errors.ts';

/** A stored message. */
export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  readonly timestamp: Date;
}

/** How long one read may take. */
const READ_TIMEOUT_MS = 5000;
/** Messages of one batch at most; the server has no upper bound of its own. */
const BATCH = 1024;
/** Bytes of one batch, roughly. */
const BATCH_BYTES = 8 * 1024 * 1024;

export interface BatchRequest {
  readonly stream: string;
  /** Subject or wildcard. */
  readonly filter: string;
  /** First sequence wanted. */
  readonly fromSeq: number;
  /** Messages wanted at most. Default 1024. */
  readonly limit?: number | undefined;
}

export interface Batch {
  readonly messages: StoredMessage[];
  /** Messages of the filter that follow, as the answering replica knows it. */
  readonly pending: number;
}

/**
 * One direct get for many messages in sequence order: one request, one round trip.
 * @throws TimeoutError after five seconds without the end of the batch; the server's words otherwise
 */
export async function directBatch(
  bus: Bus,
  { stream, filter, fromSeq, limit = BATCH }: BatchRequest,
): Promise<Batch> {
  await waitForLink(bus);
  const request = JSON.stringify({
    seq: Math.max(1, fromSeq),
    next_by_subj: filter,
    batch: Math.min(limit, BATCH),
    max_bytes: BATCH_BYTES,
  });
  return new Promise((resolve, reject) => {
    const messages: StoredMessage[] = [];
    const finish = (act: () => void): void => {
      clearTimeout(timer);
      box.close();
      act();
    };
    const box = bus.replies.open((message) => {
      if (isStored(message)) {
        messages.push(fromDirect(message));
        return;
      }
      const code = message.headers?.code ?? 0;
      if (code === 204) {
        finish(() => resolve({ messages, pending: Number(message.headers?.get('Nats-Num-Pending') || 0) }));
      } else if (code === 404) {
        finish(() => resolve({ messages, pending: 0 }));
      } else {
        finish(() => reject(refusal(code, message.headers?.description)));
      }
    });
    const timer = setTimeout(() => finish(() => reject(new TimeoutError())), READ_TIMEOUT_MS);
    bus.nc.publish(`${bus.apiPrefix}.DIRECT.GET.${stream}`, request, { reply: box.subject });
  });
}

/**
 * The last message of an exact subject: by direct get, and at the leader when that finds nothing, because a follower
 * may lag. Null when the leader has none.
 */
export async function lastBySubject(
  bus: Bus,
  stream: string,
  subject: string,
): Promise<StoredMessage | null> {
  const message = await bus.request(`${bus.apiPrefix}.DIRECT.GET.${stream}.${subject}`, '', {
    timeoutMs: READ_TIMEOUT_MS,
  });
  if (isStored(message)) return fromDirect(message);
  const code = message.headers?.code ?? 0;
  if (code !== 404) throw refusal(code, message.headers?.description);
  return leaderGet(bus, stream, { last_by_subj: subject });
}

/** What `MSG.GET` may be asked for. */
export type LeaderQuery =
  | { readonly seq: number; readonly next_by_subj: string }
  | { readonly seq: number }
  | { readonly last_by_subj: string };

interface LeaderReply {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
  readonly message?: {
    readonly subject: string;
    readonly seq: number;
    readonly data?: string;
    readonly hdrs?: string;
    readonly time: string;
  };
}

/** One message from the leader; null when it has none. */
export async function leaderGet(bus: Bus, stream: string, query: LeaderQuery): Promise<StoredMessage | null> {
  const reply = await bus.request(`${bus.apiPrefix}.STREAM.MSG.GET.${stream}`, JSON.stringify(query), {
    timeoutMs: READ_TIMEOUT_MS,
  });
  const { error, message } = reply.json<LeaderReply>();
  if (error?.code === 404) return null;
  if (error || !message) throw refusal(error?.code ?? 0, error?.description);
  return {
    seq: message.seq,
    subject: message.subject,
    data: Buffer.from(message.data ?? '', 'base64'),
    headers:
      message.hdrs === undefined ? undefined : parseHeaders(Buffer.from(message.hdrs, 'base64').toString()),
    timestamp: new Date(message.time),
  };
}

/** The stream has no leader, or the server is starting: read again later. */
function refusal(code: number, description = 'no message'): RetryableError {
  return new RetryableError('nats_unreachable', `the log cannot be read now: ${code} ${description}`);
}

async function waitForLink(bus: Bus): Promise<void> {
  if (!bus.connected() && !(await bus.whenConnected(READ_TIMEOUT_MS))) throw new TimeoutError();
}

/**
 * A writer can give a stored message a status line of its own, so the status proves nothing; the server puts the
 * sequence on every stored message and on no status.
 */
function isStored(message: Msg): boolean {
  return message.headers?.has('Nats-Sequence') ?? false;
}

function fromDirect(message: Msg): StoredMessage {
  const { headers } = message;
  // A message that was stored with a header of this name has it twice: the server's comes last.
  return {
    seq: Number(headers?.last('Nats-Sequence')),
    subject: headers?.last('Nats-Subject') ?? '',
    data: message.data,
    headers,
    timestamp: new Date(headers?.last('Nats-Time-Stamp') ?? 0),
  };
}

function parseHeaders(text: string): MsgHdrs {
  const parsed = newHeaders();
  for (const line of text.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) parsed.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return parsed;
}
