/** One message into a stream, and what became of it. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  ClosedConnectionError,
  DrainingConnectionError,
  InvalidArgumentError,
  type MsgHdrs,
  PermissionViolationError,
} from '@nats-io/transport-node';
import type { Bus } from '../connection.ts';
import { AppendUnconfirmedError, messageOf, RetryableError, TerminalError } from '../errors.ts';

export interface Publication {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly headers: MsgHdrs;
}

/** `unknown`: stored or not, and perhaps yet to be stored. */
export type Attempt =
  | { readonly kind: 'stored'; readonly seq: number }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'unknown'; readonly cause: unknown };

/** How long to wait for one acknowledgement. A change of leader takes longer: then it is asked again. */
export const ATTEMPT_TIMEOUT_MS = 4000;
/** How long an append is tried before it is given up as unconfirmed. */
export const APPEND_TIMEOUT_MS = 20_000;

interface PubAckReply {
  readonly seq?: number;
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
}

/** "wrong last sequence", with and without a number: both mean that somebody else was first. */
const CONFLICTS = new Set([10071, 10164]);
const STORE_FAILED = 10077;
const TOO_LARGE = 10054;

/**
 * Publishes once.
 * @throws RetryableError `log_full`; TerminalError `message_too_large`; NATS's error when the right is missing or the
 *   connection is closed
 */
export async function publishOnce(bus: Bus, publication: Publication, timeoutMs: number): Promise<Attempt> {
  const { subject, bytes, headers } = publication;
  let reply: PubAckReply;
  try {
    reply = (await bus.request(subject, bytes, { timeoutMs, headers })).json<PubAckReply>();
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      throw new TerminalError('message_too_large', error.message, { cause: error });
    if (isHopeless(error)) throw error;
    return { kind: 'unknown', cause: error };
  }
  if (reply.error) return refused(reply.error, subject);
  return reply.seq === undefined
    ? { kind: 'unknown', cause: new Error('not an acknowledgement') }
    : { kind: 'stored', seq: reply.seq };
}

export function isHopeless(error: unknown): boolean {
  return (
    error instanceof PermissionViolationError ||
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError
  );
}

function refused(error: NonNullable<PubAckReply['error']>, subject: string): Attempt {
  const { err_code: code = 0, description = '' } = error;
  if (CONFLICTS.has(code)) return { kind: 'conflict' };
  if (code === STORE_FAILED && description.includes('maximum')) {
    throw new RetryableError('log_full', `${subject}: ${description}`, { delayMs: 5000 });
  }
  if (code === TOO_LARGE) throw new TerminalError('message_too_large', `${subject}: ${description}`);
  return { kind: 'unknown', cause: new Error(`${code}: ${description}`) };
}

/**
 * Publishes until the stream says stored or conflict. For messages of which a second copy does no harm, or that
 * compare and set.
 * @throws AppendUnconfirmedError after `timeoutMs` (default 20 s), and what `publishOnce` throws
 */
export async function publishConfirmed(
  bus: Bus,
  publication: Publication,
  timeoutMs: number = APPEND_TIMEOUT_MS,
): Promise<Exclude<Attempt, { kind: 'unknown' }>> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (let tries = 0; ; tries++) {
    const left = deadline - performance.now();
    if (left <= 0) throw new AppendUnconfirmedError(publication.subject, timeoutMs, cause);
    const attempt = await publishOnce(bus, publication, Math.min(ATTEMPT_TIMEOUT_MS, left));
    if (attempt.kind !== 'unknown') return attempt;
    cause = attempt.cause;
    bus.logger.debug({ subject: publication.subject, cause: messageOf(cause) }, 'publish unconfirmed');
    await pause(tries);
  }
}

/** Waits a little, more after each try, at most half a second. */
export function pause(tries: number): Promise<void> {
  return sleep(Math.min(500, 20 * 2 ** Math.min(tries, 5)) * (0.5 + Math.random() / 2));
}
