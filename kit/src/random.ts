import { randomFillSync } from 'node:crypto';

/** A system call for each few bytes would cost more than the rest of an envelope. */
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Random bytes as text. */
export function randomText(bytes: number, encoding: 'hex' | 'base64url'): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString(encoding, used - bytes, used);
}

/** A random number from 0 to below 1, of 16 bits. */
export function randomFraction(): number {
  return Number.parseInt(randomText(2, 'hex'), 16) / 65_536;
}
