/**
 * The bus: one connection to NATS, and the rules for using it.
 *
 * B1. It reconnects for ever; only `drain` or credentials that are refused for good end it.
 * B2. Nothing is published while the connection is away: the client would hold it in memory and drop it on the next
 *     dial. `request` waits for the connection within its own time limit instead.
 * B3. Replies come to `_I.<service>.>` and nowhere else, so that a user's subscribe right can be just that.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import {
  AuthorizationError,
  ClosedConnectionError,
  type ConnectionOptions,
  connect,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  nkeyAuthenticator,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { NatsTooOldError, NatsUnreachableError } from './errors.ts';
import { watchLink } from './link.ts';
import type { Logger } from './log.ts';
import { createReplies, type Replies } from './replies.ts';

export interface BusConfig {
  /** `nats://host:port`, one or several of a cluster. */
  readonly url: string | readonly string[];
  /** `<service>/<instance>`, shown in the server's connection list. */
  readonly name: string;
  /** Seed of the service's NKey user (`SU…`). Absent: no credentials. */
  readonly nkeySeed?: string | undefined;
  /** Default `_I.<service>`. */
  readonly inboxPrefix?: string | undefined;
  /** Prefix of the JetStream API; `core.API` in an account that imports it. Default `$JS.API`. */
  readonly apiPrefix?: string | undefined;
  /** How long to try before `NatsUnreachableError`. Default 10 000. */
  readonly connectTimeoutMs?: number | undefined;
  readonly logger: Logger;
}

export interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers?: MsgHdrs | undefined;
}

export interface Bus {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly name: string;
  readonly logger: Logger;
  /** `$JS.API` or what stands in its place. */
  readonly apiPrefix: string;
  /** Where this user's replies may come. */
  readonly inboxPrefix: string;
  /** Requests that have several replies. */
  readonly replies: Replies;
  /**
   * One request, one reply. Waits for the connection within `timeoutMs`.
   * Throws NATS's `TimeoutError`, `NoRespondersError` or `PermissionViolationError`, `ConnectionError` at once when the
   * connection is lost before the reply, and `ClosedConnectionError` when it is closed for good.
   */
  request(subject: string, payload: Uint8Array | string, options: RequestOptions): Promise<Msg>;
  connected(): boolean;
  /** Resolves true once connected, false after `timeoutMs` or when closed. */
  whenConnected(timeoutMs: number): Promise<boolean>;
  /** Calls back after each reconnect; returns a function that stops it. */
  onReconnect(listener: () => void): () => void;
  /** Ends subscriptions in order, flushes what is to be sent, closes. Safe to call twice. */
  drain(): Promise<void>;
  /** Resolves when closed for good; with the error when that was not asked for. */
  closed(): Promise<Error | undefined>;
}

/**
 * Connects.
 * @throws NatsUnreachableError after `connectTimeoutMs`, at once when the credentials are refused
 * @throws NatsTooOldError when the server is older than 2.14
 */
export async function connectBus(config: BusConfig): Promise<Bus> {
  const nc = await connectWithin(config);
  const version = nc.info?.version ?? '0';
  if (isTooOld(version)) {
    await nc.close();
    throw new NatsTooOldError(version);
  }
  return createBus(nc, config);
}

function createBus(nc: NatsConnection, config: BusConfig): Bus {
  const apiPrefix = config.apiPrefix ?? '$JS.API';
  const link = watchLink(nc, config.logger);
  const inboxPrefix = inboxPrefixOf(config);
  return {
    nc,
    js: jetstream(nc, { apiPrefix, timeout: 5000 }),
    name: config.name,
    logger: config.logger,
    apiPrefix,
    inboxPrefix,
    replies: createReplies(nc, inboxPrefix),
    connected: link.connected,
    whenConnected: link.whenConnected,
    onReconnect: link.onReconnect,
    async request(subject, payload, { timeoutMs, headers }) {
      const started = performance.now();
      if (!link.connected() && !(await link.whenConnected(timeoutMs)))
        throw nc.isClosed() ? new ClosedConnectionError() : new TimeoutError();
      const left = Math.max(1, timeoutMs - (performance.now() - started));
      const reply = nc.request(subject, payload, headers ? { timeout: left, headers } : { timeout: left });
      try {
        return await link.unlessLost(reply);
      } catch (error) {
        // The client wraps what the server said.
        throw error instanceof RequestError && error.cause instanceof Error ? error.cause : error;
      }
    },
    drain: () => drain(nc, link.connected),
    closed: async () => (await nc.closed()) ?? undefined,
  };
}

/** How long a drain may take before the connection is cut. */
const DRAIN_LIMIT_MS = 5000;

async function drain(nc: NatsConnection, connected: () => boolean): Promise<void> {
  if (nc.isClosed()) return;
  if (!connected()) return nc.close();
  if (nc.isDraining()) {
    await nc.closed();
    return;
  }
  const timer = setTimeout(() => void nc.close(), DRAIN_LIMIT_MS);
  try {
    await nc.drain();
  } finally {
    clearTimeout(timer);
  }
}

function inboxPrefixOf(config: BusConfig): string {
  return config.inboxPrefix ?? `_I.${config.name.split('/')[0]?.replace(/[^A-Za-z0-9_-]/g, '-')}`;
}

function toOptions(config: BusConfig): ConnectionOptions {
  return {
    servers: typeof config.url === 'string' ? config.url.split(',') : [...config.url],
    name: config.name,
    inboxPrefix: inboxPrefixOf(config),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 300,
    // A server that restarts with other users must not end a service: it goes on asking.
    ignoreAuthErrorAbort: true,
    pingInterval: 5000,
    maxPingOut: 2,
    timeout: 5000,
    // A stack per request costs more than the request.
    noAsyncTraces: true,
    ...(config.nkeySeed ? { authenticator: nkeyAuthenticator(Buffer.from(config.nkeySeed)) } : {}),
  };
}

async function connectWithin(config: BusConfig): Promise<NatsConnection> {
  const limitMs = config.connectTimeoutMs ?? 10_000;
  const deadline = performance.now() + limitMs;
  for (;;) {
    const left = deadline - performance.now();
    try {
      return await connect({ ...toOptions(config), timeout: Math.max(100, Math.min(5000, left)) });
    } catch (error) {
      const hopeless = error instanceof AuthorizationError && !isSlow(error);
      if (hopeless || performance.now() + 100 >= deadline) {
        throw new NatsUnreachableError([config.url].flat().join(','), limitMs, error);
      }
      await sleep(100 + Math.random() * 150);
    }
  }
}

/** The server gave up waiting for this process's proof of who it is: a busy machine, no wrong credentials. */
function isSlow({ message }: AuthorizationError): boolean {
  return /authentication timeout/i.test(message);
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 2 || (major === 2 && minor < 14);
}
