/**
 * Identifiers. Every id is one safe NATS subject token, so user text can never widen a subject.
 *
 * I1. A token matches `[A-Za-z0-9_-]{1,64}`; anything else is refused with `invalid_id` before it reaches a subject.
 * I2. Ids differ in case: `A` and `a` are two sessions.
 * I3. The session id `sys` is reserved for the registry lane of a tenant; the tenant `-` is house-wide.
 */
import { z } from 'zod';

export const TOKEN_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** One NATS subject token: letters, digits, `_` and `-`, 1 to 64 characters. */
export const tokenSchema = z.string().regex(TOKEN_PATTERN);

/** A ULID: 26 characters of Crockford base 32, sortable by creation time. */
export const ulidSchema = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);

/** Lower-case hexadecimal SHA-256. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);

/** RFC 3339 instant in UTC with a `Z`, for example `2026-11-30T12:00:00.000Z`. */
export const instantSchema = z.iso.datetime();

/** `artifact://<sha256>`: immutable bytes in the `BLOB` stream of the event's tenant. */
export const artifactUriSchema = z.string().regex(/^artifact:\/\/[0-9a-f]{64}$/);

/** A handle to immutable bytes. Unknown keys are dropped. */
export const artifactRefSchema = z.object({
  /** `artifact://<sha256>` */
  uri: artifactUriSchema,
  /** What the bytes are for, in a word or a file name. */
  name: z.string().optional(),
  mediaType: z.string(),
  sizeBytes: z.int().nonnegative(),
});
export type ArtifactRef = z.infer<typeof artifactRefSchema>;

/** Tenant used when none is named. */
export const LOCAL_TENANT = 'local';
/** Tenant whose registry lane holds what is true for the whole house. */
export const HOUSE_TENANT = '-';
/** Reserved session id: the registry lane of a tenant. */
export const SYSTEM_SESSION = 'sys';

/** Narrows a string to a safe token; ids from people go through this before anything else. */
export function isToken(value: string): boolean {
  return TOKEN_PATTERN.test(value);
}

/** True for an id that a client may give to a session. */
export function isSessionId(value: string): boolean {
  return isToken(value) && value !== SYSTEM_SESSION;
}

export function toArtifactUri(sha256: string): string {
  return `artifact://${sha256}`;
}

export function sha256OfArtifactUri(uri: string): string {
  return uri.slice('artifact://'.length);
}
