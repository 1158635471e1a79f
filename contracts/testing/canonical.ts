/** Canonical JSON (RFC 8785) and hashes for tests and scripts of the contracts, which depend on zod only. */
import { createHash } from 'node:crypto';

/** Members sorted by UTF-16 code units, no white space; numbers and strings as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item) ? sorted(item) : item,
  );
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Lower-case hexadecimal SHA-256. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
