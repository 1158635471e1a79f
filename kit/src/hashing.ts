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
 * Id of a context: SHA-256 over the hashes of its parts, in order, joined by line feeds. Cheap to extend: the hash of a
 * part is taken once for each object, and `projectContext` gives unchanged history as the same objects again.
 * @param parts plain JSON that nobody changes afterwards
 */
export function contextSnapshotId(parts: readonly unknown[]): string {
  return sha256Hex(parts.map(hashOnce).join('\n'));
}

const hashes = new WeakMap<object, string>();

function hashOnce(part: unknown): string {
  if (typeof part !== 'object' || part === null) return hashOf(part);
  const known = hashes.get(part);
  if (known !== undefined) return known;
  const hash = hashOf(part);
  hashes.set(part, hash);
  return hash;
}
