/**
 * A service's durable pull consumer.
 *
 * D1. It binds to a durable that is there and never makes one; one that is deleted is waited for and bound again.
 * D2. No more deliveries are in hand than `concurrency`; each is kept alive while it waits or runs.
 * D3. Deliveries of one key are handled one after another. Nothing else is promised about order or repetition:
 *     delivery is a hint, the log is the truth.
 * D4. Every delivery ends in a fate: what the handler returns, or what it throws (`errors.ts`, F1 to F3).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { ACK_WAIT_MS, type Durable, parseEventSubject } from '@interlock/contracts';
import type { Msg } from '@nats-io/transport-node';
import type { Bus } from '../connection.ts';
import { type Delivery, fatePayload, nak, tell, WORKING } from './delivery.ts';
import { KeyQueue } from './key-queue.ts';
import { openDelivery } from './open.ts';
import type { ConsumerOptions } from './options.ts';
import { createPuller, type Puller } from './puller.ts';
import { settle } from './settle.ts';

export interface Consumer {
  /** Stops pulling, finishes what is in hand, then resolves. */
  stop(): Promise<void>;
  /** True while the durable is there and messages are asked for. */
  bound(): boolean;
}

/** Between two looks for a durable that is not there. */
const REBIND_MS = 250;

interface InHand {
  readonly message: Msg;
  since: number;
}

/** Starts to consume. Returns at once; `bound()` says when the durable was found. */
export function runConsumer(bus: Bus, options: ConsumerOptions): Consumer {
  const { durable, concurrency = 8, heartbeatMs = ACK_WAIT_MS / 3 } = options;
  const logger = (options.logger ?? bus.logger).child({ durable: durable.name });
  const queue = new KeyQueue();
  const inHand = new Set<InHand>();
  let stopping = false;
  let isBound = false;
  let lastQueued: Promise<unknown> = Promise.resolve();

  const receive = (message: Msg): void => {
    // Left to another replica at once.
    if (stopping) {
      tell(message, fatePayload(nak(0)), logger);
      return;
    }
    const held = { message, since: performance.now() };
    inHand.add(held);
    void work(message).finally(() => {
      inHand.delete(held);
      puller.release();
    });
  };

  const work = async (message: Msg): Promise<void> => {
    try {
      const opening = openDelivery(bus, message, options, logger);
      // Queued in the order they came, however long each takes to decode.
      const queued = lastQueued.then(async () => {
        const delivery = await opening;
        if (delivery === null) return null;
        return { settled: queue.run(keyOf(delivery, options), () => settle(bus, delivery, options)) };
      });
      lastQueued = queued;
      await (await queued)?.settled;
    } catch (error) {
      logger.error({ subject: message.subject, err: error }, 'a delivery was dropped; it comes again');
    }
  };

  const rebind = async (why: string): Promise<void> => {
    isBound = false;
    if (why !== '') logger.warn({ code: 'consumer_missing', why }, 'the durable does not answer');
    for (let looks = 0; !stopping && !bus.nc.isClosed(); looks++) {
      if (await isThere(bus, durable)) {
        isBound = true;
        if (looks > 0) logger.info('the durable is there');
        puller.resume();
        return;
      }
      if (looks === 20)
        logger.error({ code: 'consumer_missing' }, 'waiting for the durable to be provisioned');
      await sleep(REBIND_MS);
    }
  };

  const puller: Puller = createPuller({
    bus,
    stream: durable.stream,
    durable: durable.name,
    capacity: concurrency,
    receive,
    lost: (why) => void rebind(why),
  });
  void rebind('');

  const heartbeat = setInterval(
    () => {
      if (!bus.connected()) return;
      const now = performance.now();
      for (const held of inHand) {
        if (now - held.since < heartbeatMs) continue;
        held.since = now;
        tell(held.message, WORKING, logger);
      }
    },
    Math.max(10, heartbeatMs / 4),
  );

  return {
    bound: () => isBound && bus.connected(),
    async stop() {
      stopping = true;
      isBound = false;
      await puller.close();
      while (inHand.size > 0) {
        await queue.idle();
        await sleep(5);
      }
      clearInterval(heartbeat);
    },
  };
}

async function isThere(bus: Bus, { stream, name }: Durable): Promise<boolean> {
  try {
    const reply = await bus.request(`${bus.apiPrefix}.CONSUMER.INFO.${stream}.${name}`, '', {
      timeoutMs: 2000,
    });
    return reply.json<{ error?: unknown }>().error === undefined;
  } catch {
    // No server, no stream, no right: not there, and asked again.
    return false;
  }
}

/** A key that cannot be told is the subject's own. */
function keyOf(delivery: Delivery, { key }: ConsumerOptions): string {
  try {
    return key ? key(delivery) : sessionKey(delivery.subject);
  } catch (error) {
    delivery.logger.error({ err: error }, 'no key for a delivery');
    return delivery.subject;
  }
}

function sessionKey(subject: string): string {
  const address = parseEventSubject(subject);
  return address ? `${address.tenant}.${address.session}` : subject;
}
