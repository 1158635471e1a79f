/**
 * The events of one session in stream order, from the event-store's query by sequence. The tail on core NATS only wakes
 * it up: a lost wake-up costs at most the poll interval, never an event.
 */

import { type LogEntry, rpcSubject, tailSubject } from '@interlock/contracts';
import { type Bus, callRpc, decodeMessage } from '@interlock/kit';
import { canonicalJson } from '@interlock/kit/pure';
import { RuntimeRefusal } from './errors.ts';

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

const POLL_MS = 2_000;
const QUERY_TIMEOUT_MS = 10_000;

/** Iterates the events; ends at the present end, or when aborted if it follows. Throws `RuntimeRefusal` when no event-store answers. */
export async function* eventFeed(bus: Bus, options: FeedOptions): AsyncGenerator<FeedEvent> {
  const { tenant, session, follow = false, signal } = options;
  const wake = new WakeUp();
  const subscription = follow
    ? bus.nc.subscribe(tailSubject.session(tenant, session), { callback: () => wake.ring() })
    : null;
  const onAbort = (): void => wake.ring();
  signal?.addEventListener('abort', onAbort);
  try {
    let fromSeq = options.fromSeq ?? 0;
    while (!signal?.aborted) {
      wake.reset();
      const page = await queryEvents(bus, tenant, session, fromSeq);
      for (const { seq, event } of page.events) {
        const data = new TextEncoder().encode(canonicalJson(event));
        const entry = await decodeMessage(bus, { subject: String(event.subject ?? ''), seq, data });
        yield { seq, event, entry };
        if (signal?.aborted) return;
      }
      fromSeq = Math.max(fromSeq, page.throughSeq + 1);
      if (page.more) continue;
      if (!follow) return;
      await wake.within(POLL_MS);
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    subscription?.unsubscribe();
  }
}

async function queryEvents(
  bus: Bus,
  tenant: string,
  session: string,
  fromSeq: number,
): Promise<{ events: { seq: number; event: Record<string, unknown> }[]; throughSeq: number; more: boolean }> {
  const reply = await callRpc(bus, {
    subject: rpcSubject.query(tenant, 'events'),
    rpc: 'query.events',
    request: { session, fromSeq },
    timeoutMs: QUERY_TIMEOUT_MS,
    unavailable: 'query_timeout',
  });
  if (!reply.ok) throw new RuntimeRefusal(reply.code, reply.message);
  return reply;
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
