/**
 * The spill rule: what is too large for a message is stored in `BLOB` and referenced from its place.
 *
 * P1. A string of `data` above 64 KiB is replaced by `{"$artifact", "sizeBytes", "encoding": "text"}`.
 * P2. A message above 512 KiB has its largest top-level fields of `data` replaced whole, `"encoding": "json"`.
 * P3. `data["$spilled"]` lists the JSON pointers of what was replaced, outermost first. It is written here and
 *     nowhere else, and restored from nothing else: JSON of a user that looks like a reference is left alone.
 * P4. Bytes are stored before the event that names them, so a reference without bytes is a forgery, not a delay.
 */
import { artifactUriSchema, toArtifactUri } from '@interlock/contracts';
import { canonicalJson } from './canonical.ts';
import { TerminalError } from './errors.ts';
import { sha256Hex } from './hashing.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { FIELD_LIMIT, RESTORE_LIMIT } from './limits.ts';
import { type PathToken, parsePointer, replaceAt, toPointer, valueAt } from './pointer.ts';

const SPILLED = '$spilled';

/** Bytes to be stored before the message is. */
export interface SpilledBytes {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export interface Spilled {
  /** Canonical JSON of what remains. */
  readonly text: string;
  readonly blobs: readonly SpilledBytes[];
}

/**
 * Replaces what is too large in `data`.
 * @param room bytes that canonical `data` may have so that the whole message keeps within its limit
 * @throws TerminalError `message_too_large` when more than 64 MiB would be stored apart
 */
export function spill(data: JsonObject, room: number): Spilled {
  const whole = canonicalJson(data);
  // Nothing can be above the field limit in a message that is not.
  if (whole.length * 3 <= FIELD_LIMIT || Buffer.byteLength(whole) <= FIELD_LIMIT)
    return { text: whole, blobs: [] };
  const blobs: SpilledBytes[] = [];
  const pointers: string[] = [];
  let total = 0;
  const store = (bytes: Uint8Array, encoding: Encoding): Reference => {
    total += bytes.length;
    if (total > RESTORE_LIMIT)
      throw new TerminalError('message_too_large', 'more than 64 MiB in one message');
    const sha256 = sha256Hex(bytes);
    blobs.push({ sha256, bytes });
    return { $artifact: toArtifactUri(sha256), sizeBytes: bytes.length, encoding };
  };
  let result = data;
  for (const path of largeStrings(data)) {
    const text = valueAt(data, path) as string;
    result = replaceAt(result, path, store(Buffer.from(text), 'text'));
    pointers.push(toPointer(path));
  }
  result = spillFields({ data: result, pointers, store, room });
  return blobs.length === 0
    ? { text: whole, blobs }
    : { text: canonicalJson({ ...result, [SPILLED]: pointers }), blobs };
}

export type Encoding = 'text' | 'json';
interface Reference {
  readonly $artifact: string;
  readonly sizeBytes: number;
  readonly encoding: Encoding;
}

interface FieldSpill {
  readonly data: JsonObject;
  readonly pointers: string[];
  readonly store: (bytes: Uint8Array, encoding: Encoding) => Reference;
  readonly room: number;
}

function spillFields({ data, pointers, store, room }: FieldSpill): JsonObject {
  let result = data;
  // The list of pointers counts too.
  let size = canonicalSize({ ...data, [SPILLED]: pointers });
  if (size <= room) return result;
  const fields = Object.keys(data)
    .map((key) => ({ key, text: canonicalJson(data[key] ?? null) }))
    .sort((a, b) => b.text.length - a.text.length);
  for (const { key, text } of fields) {
    if (size <= room) break;
    const bytes = Buffer.from(text);
    const reference = store(bytes, 'json');
    result = { ...result, [key]: reference };
    pointers.unshift(toPointer([key]));
    size -= bytes.length - canonicalSize(reference) - key.length - 4;
  }
  return result;
}

function canonicalSize(value: unknown): number {
  return Buffer.byteLength(canonicalJson(value));
}

/** Strings deeper than this stay where they are; a message that is too large for it loses the whole field. */
const SEARCH_DEPTH = 32;

/** Paths of the strings above the limit. An explicit stack: a user's JSON may be as deep as it likes. */
function largeStrings(data: JsonObject): PathToken[][] {
  const found: PathToken[][] = [];
  const stack: { value: unknown; path: PathToken[] }[] = [{ value: data, path: [] }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') {
      if (isLarge(value)) found.push(path);
    } else if (path.length < SEARCH_DEPTH && typeof value === 'object' && value !== null) {
      const members = Array.isArray(value) ? value.entries() : Object.entries(value);
      for (const [token, item] of members) stack.push({ value: item, path: [...path, token] });
    }
  }
  return found;
}

function isLarge(text: string): boolean {
  // Three bytes a code unit at most.
  return text.length * 3 > FIELD_LIMIT && Buffer.byteLength(text) > FIELD_LIMIT;
}

/** A restored message, or why it cannot be one. */
export type Restored =
  | { readonly ok: true; readonly data: JsonObject }
  | {
      readonly ok: false;
      readonly code: 'unreadable_event' | 'artifact_unavailable';
      readonly reason: string;
    };

/** True when `data` of a stored message has fields that must be restored before it can be parsed. */
export function isSpilled(data: unknown): data is JsonObject {
  return isObject(data) && Object.hasOwn(data, SPILLED);
}

/**
 * Puts back what was stored apart.
 * @param fetch the bytes of an artifact; null when there are none (P4) or they are not what the address says
 * @throws what `fetch` throws
 */
export async function restore(
  data: JsonObject,
  fetch: (uri: string) => Promise<Uint8Array | null>,
): Promise<Restored> {
  const { [SPILLED]: pointers, ...rest } = data;
  if (!Array.isArray(pointers)) return unreadable(`/${SPILLED} is not a list`);
  let result: JsonObject = rest;
  let total = 0;
  for (const pointer of pointers as unknown[]) {
    const path = typeof pointer === 'string' ? parsePointer(pointer) : null;
    const reference = path === null ? undefined : valueAt(result, path);
    if (path === null || !isReference(reference)) return unreadable(`no reference at ${String(pointer)}`);
    total += reference.sizeBytes;
    if (total > RESTORE_LIMIT) return unreadable('more than 64 MiB are stored apart');
    const bytes = await fetch(reference.$artifact);
    if (bytes?.length !== reference.sizeBytes) {
      return { ok: false, code: 'artifact_unavailable', reason: `${reference.$artifact} is not there` };
    }
    const value = decode(bytes, reference.encoding);
    if (value === undefined) return unreadable(`${reference.$artifact} is not JSON`);
    result = replaceAt(result, path, value);
  }
  return { ok: true, data: result };
}

function unreadable(reason: string): Restored {
  return { ok: false, code: 'unreadable_event', reason };
}

function decode(bytes: Uint8Array, encoding: Encoding): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (encoding === 'text') return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isReference(value: unknown): value is Reference {
  return (
    isObject(value) &&
    artifactUriSchema.safeParse(value.$artifact).success &&
    Number.isSafeInteger(value.sizeBytes) &&
    (value.sizeBytes as number) >= 0 &&
    (value.encoding === 'text' || value.encoding === 'json')
  );
}
