/** What a pull consumer delivers, and how it is answered. */
import type { LogEntry } from '@interlock/contracts';
import type { Msg } from '@nats-io/transport-node';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';

/** One delivery of a message. The same message may be delivered again, to this replica or another. */
export interface Delivery {
  readonly subject: string;
  /** Sequence in the stream. */
  readonly seq: number;
  /** The event. A message of a stream that holds no events (timers, dead letters) is an `unreadable` entry here. */
  readonly entry: LogEntry;
  readonly message: Msg;
  /** 0 the first time. */
  readonly redeliveries: number;
  /** When the message was stored. */
  readonly timestamp: Date;
  /** Carries the ids of the envelope. */
  readonly logger: Logger;
  /** Trace context of the message, a child span of it; for the events that it causes. */
  readonly traceparent: string;
  /** Says that the delivery is still being worked on; the consumer says so by itself every `heartbeatMs`. */
  working(): void;
}

/** How a delivery ends. `term`: never again; the event-store sees it as a dead letter. */
export type Fate =
  | { readonly kind: 'ack' }
  | { readonly kind: 'nak'; readonly delayMs: number }
  | { readonly kind: 'term'; readonly code: string; readonly reason: string };

export const ack: Fate = { kind: 'ack' };

/** Delivered again after `delayMs`, to whoever pulls then. */
export function nak(delayMs: number): Fate {
  return { kind: 'nak', delayMs };
}

export function term(code: string, reason: string): Fate {
  return { kind: 'term', code, reason };
}

/** The payload that tells the server. */
export function fatePayload(fate: Fate): string {
  switch (fate.kind) {
    case 'ack':
      return '+ACK';
    case 'nak':
      return `-NAK {"delay": ${Math.round(fate.delayMs * 1e6)}}`;
    case 'term':
      return `+TERM ${fate.code}: ${fate.reason.replaceAll(/\s+/g, ' ').slice(0, 200)}`;
  }
}

export const WORKING = '+WPI';

/**
 * Tells the server something about a delivery. Without a connection it is not told: the message is delivered again
 * after the ack wait.
 */
export function tell(message: Msg, payload: string, logger: Logger): void {
  try {
    message.respond(payload);
  } catch (error) {
    logger.debug({ subject: message.subject, error: messageOf(error) }, 'a delivery could not be answered');
  }
}

/** What the reply subject of a delivery says about it. */
export interface DeliveryInfo {
  readonly seq: number;
  readonly redeliveries: number;
  readonly timestamp: Date;
}

/**
 * Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<seq>.<consumer seq>.<nanoseconds>.<pending>`, or the newer form with
 * domain and account before the stream; null for any other subject.
 */
export function parseAckSubject(reply: string): DeliveryInfo | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return null;
  const at = tokens.length === 9 ? 4 : 6;
  const [delivered, seq, , nanos] = tokens.slice(at).map(Number);
  if (!delivered || !seq || !nanos) return null;
  return { seq, redeliveries: delivered - 1, timestamp: new Date(nanos / 1e6) };
}
