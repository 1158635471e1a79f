import { ACK_WAIT_MS } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import { messageOf, RetryableError, TerminalError } from '../errors.ts';
import { failpoint } from '../failpoint.ts';
import { ack, type Delivery, type Fate, fatePayload, nak, tell, term } from './delivery.ts';
import { type ConsumerOptions, isLog } from './options.ts';

/** A handler that fails without saying why is a bug: after this many deliveries it is given up. */
const BUG_LIMIT = 8;

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
    return fateOfError(error, delivery);
  }
}

function fateOfError(error: unknown, { logger, redeliveries }: Delivery): Fate {
  if (error instanceof RetryableError) {
    logger.info({ code: error.code, error: error.message, redeliveries }, 'retryable');
    return nak(error.delayMs);
  }
  if (error instanceof TerminalError) {
    logger.error({ code: error.code, error: error.message }, 'terminal');
    return term(error.code, error.message);
  }
  logger.error({ err: error, redeliveries }, 'a handler failed unexpectedly');
  if (redeliveries + 1 >= BUG_LIMIT) return term('internal', messageOf(error));
  return nak(Math.min(30_000, 250 * 2 ** redeliveries));
}
