/**
 * The events of one session in stream order, from the event-store's query by sequence. The tail on core NATS only wakes
 * it up: a lost wake-up costs at most the poll interval, never an event. An event-store that is away is waited for.
 */

import { type LogEntry, rpcSubject, tailSubject } from '@interlock/contracts';
import { type Bus, callRpc, decodeMessage, type RpcReply } from '@interlock/kit';
import { canonicalJson } from '@interlock/kit/pure';
import { RuntimeRefusal } from './errors.ts';
import { type Patience, patiently } from './patience.ts';

/** One stored event: as it stands in the stream, and as a fold reads it. */
export interface FeedEvent {
  readonly seq: number;
  readonly event: Readonly<Record<string, unknown>>;
  readonly entry: LogEntry;
}

export interface FeedOptions {
  readonly tenant: string;
  readonly session: string;
  /** First sequence wanted. Default 0: all. */
  readonly fromSeq?: number;
  /** Go on after the present end. Default false. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

type EventsReply = Extract<RpcReply<'query.events'>, { ok: true }>;

const POLL_MS = 2_000;
const QUERY_TIMEOUT_MS = 10_000;
/** A service that was killed is back within seconds; one that is gone must not be waited for silently for ever. */
const PATIENCE_MS = 30_000;

/**
 * Iterates the events; ends at the present end, or when aborted if it follows.
 * @throws RuntimeRefusal what the event-store refuses
 * @throws RetryableError `query_timeout` when none has answered for half a minute
 */
export async function* eventFeed(bus: Bus, options: FeedOptions): AsyncGenerator<FeedEvent> {
  const { tenant, session, follow = false, signal } = options;
  const patience = { limitMs: PATIENCE_MS, signal };
  const wake = new WakeUp();
  const subscription = follow
    ? bus.nc.subscribe(tailSubject.session(tenant, session), { callback: () => wake.ring() })
    : null;
  const stopListening = follow ? bus.onReconnect(() => wake.ring()) : () => undefined;
  const onAbort = (): void => wake.ring();
  signal?.addEventListener('abort', onAbort);
  try {
    let fromSeq = options.fromSeq ?? 0;
    while (!signal?.aborted) {
      wake.reset();
      const page = await queryPage(bus, options, fromSeq, patience);
      if (page === null) return;
      for (const queried of page.events) {
        yield await toFeedEvent(bus, queried, patience);
        if (signal?.aborted) return;
      }
      fromSeq = Math.max(fromSeq, page.throughSeq + 1);
      if (page.more) continue;
      if (!follow) return;
      await wake.within(POLL_MS);
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    stopListening();
    subscription?.unsubscribe();
  }
}

/** One page of events; null when the feed was aborted meanwhile. */
async function queryPage(
  bus: Bus,
  { tenant, session }: FeedOptions,
  fromSeq: number,
  patience: Patience,
): Promise<EventsReply | null> {
  try {
    const reply = await patiently(
      () =>
        callRpc(bus, {
          subject: rpcSubject.query(tenant, 'events'),
          rpc: 'query.events',
          request: { session, fromSeq },
          timeoutMs: QUERY_TIMEOUT_MS,
          unavailable: 'query_timeout',
        }),
      patience,
    );
    if (!reply.ok) throw new RuntimeRefusal(reply.code, `${reply.message}.`);
    return reply;
  } catch (error) {
    if (patience.signal?.aborted) return null;
    throw error;
  }
}

async function toFeedEvent(
  bus: Bus,
  { seq, event, bytes }: EventsReply['events'][number],
  patience: Patience,
): Promise<FeedEvent> {
  // Hashes are over what is stored, which is canonical unless a stranger wrote it.
  const stored = bytes ?? (event.type === 'unreadable' ? event.base64 : undefined);
  const data =
    typeof stored === 'string'
      ? new Uint8Array(Buffer.from(stored, 'base64'))
      : new TextEncoder().encode(canonicalJson(event));
  const message = { subject: String(event.subject ?? ''), seq, data };
  return { seq, event, entry: await patiently(() => decodeMessage(bus, message), patience) };
}

/** A bell that remembers a ring which came while nobody listened. */
class WakeUp {
  #rung = false;
  #listener: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#listener?.();
  }

  reset(): void {
    this.#rung = false;
  }

  async within(milliseconds: number): Promise<void> {
    if (this.#rung) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#listener = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#listener = null;
  }
}
