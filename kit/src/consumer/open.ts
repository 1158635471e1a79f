import type { LogEntry } from '@interlock/contracts';
import type { Msg } from '@nats-io/transport-node';
import type { Bus } from '../connection.ts';
import { decode } from '../decode.ts';
import { messageOf, RetryableError } from '../errors.ts';
import { sha256Hex } from '../hashing.ts';
import { eventLogger, type Logger } from '../log.ts';
import { childTraceparent } from '../trace.ts';
import { type Delivery, fatePayload, nak, parseAckSubject, tell, WORKING } from './delivery.ts';
import { type ConsumerOptions, isLog } from './options.ts';

/** Decodes a delivery; null when it had to be given back. Never rejects. */
export async function openDelivery(
  bus: Bus,
  message: Msg,
  options: ConsumerOptions,
  logger: Logger,
): Promise<Delivery | null> {
  const info = parseAckSubject(message.reply ?? '');
  if (info === null) {
    logger.error({ subject: message.subject, reply: message.reply }, 'not a delivery of JetStream');
    return null;
  }
  const { subject, data } = message;
  try {
    const raw = { subject, data, seq: info.seq };
    const entry = isLog(options.durable) ? await decode(bus, raw, options.verifier) : foreign(raw);
    const envelope = entry.type === 'unreadable' ? undefined : entry.envelope;
    return {
      ...info,
      subject,
      entry,
      message,
      logger: envelope ? eventLogger(logger, envelope) : logger.child({ subject, seq: info.seq }),
      traceparent: childTraceparent(envelope?.traceparent ?? message.headers?.get('traceparent')),
      working: () => tell(message, WORKING, logger),
    };
  } catch (error) {
    const delayMs = error instanceof RetryableError ? error.delayMs : 1000;
    logger.warn({ subject, seq: info.seq, error: messageOf(error) }, 'cannot be decoded yet');
    tell(message, fatePayload(nak(delayMs)), logger);
    return null;
  }
}

function foreign(raw: { subject: string; data: Uint8Array; seq: number }): LogEntry {
  const { subject, seq, data } = raw;
  const hash = sha256Hex(data);
  return {
    type: 'unreadable',
    subject,
    seq,
    hash,
    code: 'unreadable_event',
    reason: 'not a message of the log',
  };
}
