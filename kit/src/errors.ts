/**
 * The three fates of a handler that throws.
 *
 * F1. `RetryableError`: not now; the delivery is nak'ed with a delay.
 * F2. `TerminalError`: never; the delivery is term'ed, which the event-store sees as a dead letter.
 * F3. Anything else is a bug: logged loudly, nak'ed with a growing delay, term'ed after eight deliveries.
 */
import type { ErrorCode } from '@interlock/contracts';

export interface RetryableErrorOptions {
  readonly cause?: unknown;
  /** How long to wait before the next try, in milliseconds. Default 1000. */
  readonly delayMs?: number;
}

/** It did not work now and may work later. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError';
  readonly code: ErrorCode;
  readonly delayMs: number;
  constructor(code: ErrorCode, message: string, options: RetryableErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.delayMs = options.delayMs ?? 1000;
  }
}

/** It can never work. */
export class TerminalError extends Error {
  override readonly name: string = 'TerminalError';
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
  }
}

/**
 * The log did not confirm an append in time. It may be stored or not, and may still come to be stored:
 * read the lane again before deciding anything.
 */
export class AppendUnconfirmedError extends RetryableError {
  override readonly name = 'AppendUnconfirmedError';
  readonly subject: string;
  constructor(subject: string, waitedMs: number, cause?: unknown) {
    super('append_unconfirmed', `${subject} was not confirmed within ${waitedMs} ms`, { cause });
    this.subject = subject;
  }
}

/** No server, a refused connection, or refused credentials, within the time to connect. */
export class NatsUnreachableError extends Error {
  override readonly name = 'NatsUnreachableError';
  readonly code = 'nats_unreachable' satisfies ErrorCode;
  readonly url: string;
  constructor(url: string, waitedMs: number, cause: unknown) {
    super(`no nats-server at ${url} within ${waitedMs} ms: ${messageOf(cause)}`, { cause });
    this.url = url;
  }
}

/** The server lacks what the append path stands on. */
export class NatsTooOldError extends Error {
  override readonly name = 'NatsTooOldError';
  readonly code = 'nats_too_old' satisfies ErrorCode;
  readonly version: string;
  constructor(version: string) {
    super(`nats-server ${version} is older than 2.14`);
    this.version = version;
  }
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
