export { EMPTY_LANE, type LaneTail } from '@interlock/contracts';
export { type ArtifactOptions, getArtifact, putArtifact } from './artifacts.ts';
export { type BaseConfig, baseConfigSchema } from './base-config.ts';
export { canonicalJson, isCanonical } from './canonical.ts';
export { type Clock, type Ids, systemClock, systemIds } from './clock.ts';
export { ConfigError, type ConfigProblem, type ConfigSource, loadConfig, variableOf } from './config.ts';
export { type Bus, type BusConfig, connectBus, type RequestOptions } from './connection.ts';
export { ack, type Delivery, type Fate, nak, term } from './consumer/delivery.ts';
export type { ConsumerOptions } from './consumer/options.ts';
export { type Consumer, runConsumer } from './consumer/run.ts';
export { decodeMessage, type RawMessage, type Verifier } from './decode.ts';
export {
  AppendUnconfirmedError,
  messageOf,
  NatsTooOldError,
  NatsUnreachableError,
  RetryableError,
  type RetryableErrorOptions,
  TerminalError,
} from './errors.ts';
export { FAILPOINTS, type Failpoint, failpoint } from './failpoint.ts';
export { FoldCache, type FoldCacheOptions } from './fold-cache.ts';
export { contextSnapshotId, hashOf, sha256Hex } from './hashing.ts';
export { type Health, type HealthOptions, startHealth } from './health.ts';
export { ensureKeys, type KeySpec, keySpecOf, type LoadedKeys, loadKeys, saveKeys } from './keys.ts';
export { deleteKey, getKey, type KeyEntry, type KeyValue, listEntries, listKeys, putWithTtl } from './kv.ts';
export { type AppendAddress, type Appended, append, type Conflict } from './lane/append.ts';
export { type AtomicEntry, type AtomicResult, appendAtomic } from './lane/atomic.ts';
export { appendInbox, appendSide, type Posted, type SessionAddress } from './lane/inbox.ts';
export { type Range, readFirst, readLast, readMessages, readRange } from './lane/read.ts';
export { appendSettled, laneTail, type NextStep, type Settled } from './lane/settled.ts';
export {
  createLogger,
  eventLogger,
  LOG_LEVELS,
  type Logger,
  type LoggerOptions,
  type LogLevel,
} from './log.ts';
export { runMain } from './main.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export {
  type CallOptions,
  callRpc,
  type RpcReply,
  type RpcReplyInput,
  type RpcRequest,
  type RpcRequestInput,
  type ServeOptions,
  serveRpc,
} from './rpc.ts';
export {
  type HousedService,
  type RunningService,
  type ServiceContext,
  type SharedHouse,
  type StartService,
  startInProcess,
} from './service.ts';
export {
  createSigner,
  generateKeyPair,
  KeyRing,
  keyidOf,
  type Signer,
  signEnvelope,
  type TrustedKey,
  verifyEnvelope,
} from './signing.ts';
export type { StoredMessage } from './stream-get.ts';
export { setTimer } from './timers.ts';
export { childTraceparent, newTraceparent } from './trace.ts';
export type { AnyDraft, EventDraft, ReadBack, Writer } from './writer.ts';
