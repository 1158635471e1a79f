/**
 * Request and reply on core NATS. Both sides are parsed by the contract of the RPC; an error is a reply, never silence.
 */
import {
  type ErrorCode,
  HOUSE_TENANT,
  RPCS,
  type RpcError,
  type RpcName,
  toArtifactUri,
} from '@interlock/contracts';
import { ClosedConnectionError, headers, type Msg, PermissionViolationError } from '@nats-io/transport-node';
import type { z } from 'zod';
import { getArtifact, putBytes } from './artifacts.ts';
import type { Bus } from './connection.ts';
import { messageOf, RetryableError, TerminalError } from './errors.ts';
import { sha256Hex } from './hashing.ts';
import { HARD_LIMIT } from './limits.ts';
import { isOutage } from './outage.ts';

export type RpcRequest<Name extends RpcName> = z.output<(typeof RPCS)[Name]['request']>;
export type RpcRequestInput<Name extends RpcName> = z.input<(typeof RPCS)[Name]['request']>;
export type RpcReply<Name extends RpcName> = z.output<(typeof RPCS)[Name]['reply']>;
export type RpcReplyInput<Name extends RpcName> = z.input<(typeof RPCS)[Name]['reply']>;

export interface ServeOptions<Name extends RpcName> {
  /** Subject or wildcard. */
  readonly subject: string;
  /** Replicas of one queue share the requests. */
  readonly queue: string;
  readonly rpc: Name;
  /**
   * Called side by side. What it throws is answered: the code of a `RetryableError` or `TerminalError`,
   * `nats_unreachable` for an outage, else `internal`.
   */
  readonly handle: (
    request: RpcRequest<Name>,
    context: { readonly subject: string },
  ) => Promise<RpcReplyInput<Name>>;
}

export interface CallOptions<Name extends RpcName> {
  readonly subject: string;
  readonly rpc: Name;
  readonly request: RpcRequestInput<Name>;
  readonly timeoutMs: number;
  /** Code when no one answers. Default `query_timeout`. */
  readonly unavailable?: ErrorCode | undefined;
}

/** A body that does not fit a message travels as an artifact; this header names it. */
const ARTIFACT_HEADER = 'Interlock-Artifact';

/**
 * Answers requests until `stop`, which lets those in hand finish. Requests of other connections find it once the server
 * knows of it: `await bus.nc.flush()` where that matters before the service has started.
 */
export function serveRpc<Name extends RpcName>(
  bus: Bus,
  options: ServeOptions<Name>,
): { stop(): Promise<void> } {
  const inHand = new Set<Promise<void>>();
  const subscription = bus.nc.subscribe(options.subject, {
    queue: options.queue,
    callback: (error, message) => {
      if (error !== null) {
        bus.logger.error({ subject: options.subject, error: error.message }, 'cannot serve');
        return;
      }
      const work: Promise<void> = answer(bus, options, message).finally(() => inHand.delete(work));
      inHand.add(work);
    },
  });
  return {
    async stop() {
      if (!bus.connected()) subscription.unsubscribe();
      else if (!subscription.isClosed()) await subscription.drain();
      await Promise.all(inHand);
    },
  };
}

async function answer<Name extends RpcName>(
  bus: Bus,
  options: ServeOptions<Name>,
  message: Msg,
): Promise<void> {
  try {
    await send(bus, message, JSON.stringify(await replyTo(bus, options, message)));
  } catch (error) {
    bus.logger.error({ subject: message.subject, err: error }, 'a reply could not be sent');
  }
}

async function replyTo<Name extends RpcName>(
  bus: Bus,
  { rpc, handle }: ServeOptions<Name>,
  message: Msg,
): Promise<unknown> {
  try {
    const request = RPCS[rpc].request.safeParse(JSON.parse(await bodyOf(bus, message.subject, message)));
    if (!request.success) return refusal('query_invalid', request.error.message);
    return await handle(request.data as RpcRequest<Name>, { subject: message.subject });
  } catch (error) {
    if (error instanceof SyntaxError) return refusal('query_invalid', error.message);
    if (error instanceof RetryableError || error instanceof TerminalError)
      return refusal(error.code, error.message);
    if (isOutage(error)) {
      bus.logger.warn({ subject: message.subject, error: messageOf(error) }, 'the broker does not answer');
      return refusal('nats_unreachable', messageOf(error));
    }
    bus.logger.error({ subject: message.subject, err: error }, 'an RPC handler failed unexpectedly');
    return refusal('internal', messageOf(error));
  }
}

function refusal(code: ErrorCode, message: string): RpcError {
  return { ok: false, code, message };
}

/**
 * Asks, and waits for one answer. A reply that breaks its contract comes back as `{ok: false, code: 'internal'}`.
 * @throws RetryableError `unavailable` when no one serves the subject or answers in time, or who serves it cannot reach
 *   the log just now; what NATS throws when the right is missing or the connection closed
 */
export async function callRpc<Name extends RpcName>(
  bus: Bus,
  options: CallOptions<Name>,
): Promise<RpcReply<Name>> {
  const { subject, rpc, timeoutMs, unavailable = 'query_timeout' } = options;
  let body: string;
  try {
    const { bytes, head } = await pack(bus, subject, JSON.stringify(options.request));
    body = await bodyOf(bus, subject, await bus.request(subject, bytes, { timeoutMs, headers: head }));
  } catch (error) {
    if (error instanceof PermissionViolationError || error instanceof ClosedConnectionError) throw error;
    if (error instanceof RetryableError || error instanceof TerminalError) throw error;
    throw new RetryableError(unavailable, `${subject}: ${messageOf(error)}`, { cause: error });
  }
  const reply = parseReply(rpc, body);
  if (isUnreachable(reply)) throw new RetryableError(unavailable, `${subject}: ${reply.message}`);
  return reply;
}

function isUnreachable(reply: unknown): reply is RpcError {
  const { ok, code } = reply as Partial<RpcError>;
  return ok === false && code === 'nats_unreachable';
}

function parseReply<Name extends RpcName>(rpc: Name, body: string): RpcReply<Name> {
  let why: string;
  try {
    const reply = RPCS[rpc].reply.safeParse(JSON.parse(body));
    if (reply.success) return reply.data as RpcReply<Name>;
    why = reply.error.message;
  } catch (error) {
    why = messageOf(error);
  }
  return refusal('internal', `the reply breaks its contract: ${why}`) as RpcReply<Name>;
}

async function send(bus: Bus, message: Msg, body: string): Promise<void> {
  const { bytes, head } = await pack(bus, message.subject, body);
  message.respond(bytes, head ? { headers: head } : undefined);
}

async function pack(
  bus: Bus,
  subject: string,
  body: string,
): Promise<{ bytes: Uint8Array; head: ReturnType<typeof headers> | undefined }> {
  const bytes = Buffer.from(body);
  if (bytes.length <= HARD_LIMIT) return { bytes, head: undefined };
  const sha256 = sha256Hex(bytes);
  await putBytes(bus, tenantOf(subject), sha256, bytes);
  const head = headers();
  head.set(ARTIFACT_HEADER, toArtifactUri(sha256));
  return { bytes: new Uint8Array(0), head };
}

async function bodyOf(bus: Bus, subject: string, message: Msg): Promise<string> {
  const uri = message.headers?.get(ARTIFACT_HEADER);
  if (!uri) return message.string();
  return Buffer.from(await getArtifact(bus, tenantOf(subject), uri)).toString('utf8');
}

/** Both sides find the tenant of large bodies in the subject. */
function tenantOf(subject: string): string {
  const tenant = subject.split('.')[2];
  return tenant === undefined || tenant === 'policy' ? HOUSE_TENANT : tenant;
}
