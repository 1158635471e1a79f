import { ACK_WAIT_MS } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import { messageOf, RetryableError, TerminalError } from '../errors.ts';
import { failpoint } from '../failpoint.ts';
import { Lru } from '../lru.ts';
import { isOutage } from '../outage.ts';
import { ack, type Delivery, type Fate, fatePayload, nak, tell, term } from './delivery.ts';
import { type ConsumerOptions, isLog } from './options.ts';

/** A handler that fails without saying why is a bug: after this many failures on one message it is given up. */
const BUG_LIMIT = 8;
/** A message that ends its process each time is never seen to fail: it is given up by its deliveries. */
const DELIVERY_LIMIT = 200;
/** Failures by durable and sequence, in this process. */
const failures = new Lru<string, number>(1000);

/** Handles a delivery and tells the server its fate. Never rejects. */
export async function settle(bus: Bus, delivery: Delivery, options: ConsumerOptions): Promise<void> {
  const { durable, metrics } = options;
  const labels = { durable: durable.name, type: delivery.entry.type };
  const started = performance.now();
  const fate = await fateOf(delivery, options);
  metrics?.handlerSeconds.observe(labels, (performance.now() - started) / 1000);
  metrics?.deliveries.inc({ ...labels, fate: fate.kind });
  failpoint('before-ack', delivery.entry.type);
  // What is published without a connection is lost; past the ack wait the message is delivered again anyhow.
  if (bus.connected() || (await bus.whenConnected(ACK_WAIT_MS))) {
    tell(delivery.message, fatePayload(fate), delivery.logger);
  }
}

async function fateOf(delivery: Delivery, options: ConsumerOptions): Promise<Fate> {
  try {
    if (delivery.entry.type !== 'unreadable' || !isLog(options.durable))
      return await options.handle(delivery);
    return options.handleUnreadable ? await options.handleUnreadable(delivery) : ack;
  } catch (error) {
    return fateOfError(error, delivery, options);
  }
}

function fateOfError(
  error: unknown,
  delivery: Delivery,
  { durable, bugDelayMs = 250 }: ConsumerOptions,
): Fate {
  const { logger, redeliveries, seq } = delivery;
  if (error instanceof RetryableError) {
    logger.info({ code: error.code, error: error.message, redeliveries }, 'retryable');
    return nak(error.delayMs);
  }
  if (error instanceof TerminalError) {
    logger.error({ code: error.code, error: error.message }, 'terminal');
    return term(error.code, error.message);
  }
  if (isOutage(error)) {
    logger.warn(
      { code: 'nats_unreachable', error: messageOf(error), redeliveries },
      'the broker does not answer',
    );
    return nak(1000);
  }
  logger.error({ err: error, redeliveries }, 'a handler failed unexpectedly');
  const key = `${durable.stream}.${durable.name}.${seq}`;
  const failed = (failures.get(key) ?? 0) + 1;
  failures.set(key, failed);
  if (failed >= BUG_LIMIT || redeliveries >= DELIVERY_LIMIT) return term('internal', messageOf(error));
  return nak(Math.min(30_000, bugDelayMs * 2 ** (failed - 1)));
}
