import { hash } from 'node:crypto';
import { canonicalJson } from './canonical.ts';

/** Lower-case hexadecimal SHA-256 of bytes, or of a text as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** SHA-256 of the canonical JSON of a value. */
export function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/**
 * Id of a context: SHA-256 over the hashes of its parts, in order, joined by line feeds. Cheap to extend, because
 * the hash of a part that did not change need not be taken again.
 */
export function contextSnapshotId(parts: readonly unknown[]): string {
  return sha256Hex(parts.map(hashOf).join('\n'));
}
