/** What pure cores may use: no I/O, no NATS, no logger. */
export { canonicalJson, isCanonical } from './canonical.ts';
export { contextSnapshotId, hashOf, sha256Hex } from './hashing.ts';
