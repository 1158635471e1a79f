/**
 * Pull requests of one durable. The raw protocol, so that no more is asked for than can be started at once.
 *
 * U1. One request is open at a time; what it still asks for and what is in hand are never more than the capacity.
 * U2. A request that the server answers no more (a reconnect, missed heartbeats, an error) is written off and another
 *     is made; a message that comes after all is handled.
 * U3. A status comes to the inbox, a message under its own subject: a status line that a writer gave to a stored
 *     message is no status.
 */
import { createInbox, type Msg } from '@nats-io/transport-node';
import type { Bus } from '../connection.ts';

export interface PullerOptions {
  readonly bus: Bus;
  readonly stream: string;
  readonly durable: string;
  /** Messages in hand at most. */
  readonly capacity: number;
  /** Called for each message; it counts as in hand until `release`. Must not throw. */
  readonly receive: (message: Msg) => void;
  /** The server does not know the durable, or does not answer for it; nothing is asked until `resume`. Must not throw. */
  readonly lost: (why: string) => void;
}

/** How long a request stays open at the server. */
const EXPIRES_MS = 30_000;
/** How often the server says that a request is still open; two in a row may be missed. */
const HEARTBEAT_MS = 5000;
const SILENCE_MS = 2.2 * HEARTBEAT_MS;
/** Before asking again after a refusal. */
const RETRY_MS = 100;
const NANOS_PER_MS = 1_000_000;

export interface Puller {
  /** Asks for messages, now and whenever there is room. */
  resume(): void;
  /** One message is no longer in hand. */
  release(): void;
  /** No new messages; those on their way are received first. */
  close(): Promise<void>;
}

interface OpenRequest {
  readonly token: string;
  left: number;
  heardAt: number;
}

export function createPuller(options: PullerOptions): Puller {
  const { bus, stream, durable, capacity } = options;
  const inbox = createInbox(bus.inboxPrefix);
  let request: OpenRequest | null = null;
  let inHand = 0;
  let pulling = false;
  let next = 0;

  const pull = (): void => {
    const room = capacity - inHand;
    if (!pulling || request !== null || room <= 0 || !bus.connected()) return;
    request = { token: (next++).toString(36), left: room, heardAt: performance.now() };
    const body = {
      batch: room,
      expires: EXPIRES_MS * NANOS_PER_MS,
      idle_heartbeat: HEARTBEAT_MS * NANOS_PER_MS,
    };
    bus.nc.publish(`${bus.apiPrefix}.CONSUMER.MSG.NEXT.${stream}.${durable}`, JSON.stringify(body), {
      reply: `${inbox}.${request.token}`,
    });
  };

  const lose = (why: string): void => {
    request = null;
    if (!pulling) return;
    pulling = false;
    options.lost(why);
  };

  const onStatus = (message: Msg): void => {
    if (request === null || message.subject !== `${inbox}.${request.token}`) return;
    const { code = 0, description = '' } = message.headers ?? {};
    if (code === 100) {
      request.heardAt = performance.now();
    } else if (code === 408) {
      request = null;
      pull();
    } else if (code === 409 && !/deleted|push based/i.test(description)) {
      // Another leader, a limit: the durable is there, ask again, but not in a tight loop.
      request = null;
      setTimeout(pull, RETRY_MS).unref();
    } else {
      lose(`${code} ${description}`);
    }
  };

  const onMessage = (error: Error | null, message: Msg): void => {
    if (error !== null) {
      lose(error.message);
    } else if (message.subject.startsWith(inbox)) {
      onStatus(message);
    } else {
      inHand += 1;
      if (request !== null) {
        request.heardAt = performance.now();
        request.left -= 1;
        if (request.left === 0) request = null;
      }
      options.receive(message);
      pull();
    }
  };

  const subscription = bus.nc.subscribe(`${inbox}.*`, { callback: onMessage });
  const stopListening = bus.onReconnect(() => {
    request = null;
    pull();
  });
  const watch = setInterval(() => {
    if (request === null || !bus.connected()) return;
    if (performance.now() - request.heardAt > SILENCE_MS) lose('heartbeats missed');
  }, 1000);
  watch.unref();

  return {
    resume() {
      pulling = true;
      pull();
    },
    release() {
      inHand -= 1;
      pull();
    },
    async close() {
      pulling = false;
      clearInterval(watch);
      stopListening();
      // Without a connection there is nothing on its way, and a drain would wait for ever.
      if (!bus.connected()) subscription.unsubscribe();
      else if (!subscription.isClosed()) await subscription.drain();
    },
  };
}
