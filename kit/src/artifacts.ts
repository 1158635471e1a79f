/**
 * Immutable bytes in the write-once `BLOB` stream, addressed by their SHA-256.
 *
 * A1. A chunk is stored once, by comparison with nothing before it; a chunk that is there already is not written again.
 * A2. What is read is what its address says, or it is not there.
 * A3. Only the direct get by exact subject is used first: it is all that an executor's account may do.
 */
import {
  type ArtifactRef,
  blobSubject,
  STREAMS,
  sha256OfArtifactUri,
  toArtifactUri,
} from '@interlock/contracts';
import { headers } from '@nats-io/transport-node';
import type { Bus } from './connection.ts';
import { messageOf, RetryableError, TerminalError } from './errors.ts';
import { sha256Hex } from './hashing.ts';
import { expectEmpty } from './lane/expect.ts';
import { publishConfirmed } from './lane/publish.ts';
import { ARTIFACT_LIMIT, CHUNK_SIZE } from './limits.ts';
import { lastBySubject, type StoredMessage } from './stream-get.ts';

/** How many chunks the artifact has; on each of them. */
const CHUNKS_HEADER = 'Interlock-Chunks';
/** Chunks in flight at a time. */
const WINDOW = 8;

export interface ArtifactOptions {
  readonly mediaType: string;
  readonly name?: string | undefined;
}

/**
 * Stores bytes, or a text as UTF-8. Storing the same bytes again is harmless.
 * @throws TerminalError `message_too_large` above 1 GiB; `artifact_unavailable` when other bytes occupy the address
 * @throws RetryableError `append_unconfirmed` or `log_full`
 */
export async function putArtifact(
  bus: Bus,
  tenant: string,
  content: Uint8Array | string,
  { mediaType, name }: ArtifactOptions,
): Promise<ArtifactRef> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const sha256 = sha256Hex(bytes);
  await putBytes(bus, tenant, sha256, bytes);
  return {
    uri: toArtifactUri(sha256),
    mediaType,
    sizeBytes: bytes.length,
    ...(name === undefined ? {} : { name }),
  };
}

/** As `putArtifact`, for bytes whose hash is known. */
export async function putBytes(bus: Bus, tenant: string, sha256: string, bytes: Uint8Array): Promise<void> {
  if (bytes.length > ARTIFACT_LIMIT) throw new TerminalError('message_too_large', 'an artifact above 1 GiB');
  const chunks = Math.max(1, Math.ceil(bytes.length / CHUNK_SIZE));
  let known = false;
  await eachOf(chunks, async (index) => {
    const head = headers();
    head.set(CHUNKS_HEADER, String(chunks));
    expectEmpty(head);
    const subject = blobSubject.chunk(tenant, sha256, index);
    const chunk = bytes.subarray(index * CHUNK_SIZE, (index + 1) * CHUNK_SIZE);
    const result = await publishConfirmed(bus, { subject, bytes: chunk, headers: head });
    if (result.kind === 'conflict') known = true;
  });
  // Somebody wrote chunks of that name before: make sure they are these bytes.
  if (known && (await fetchBytes(bus, tenant, toArtifactUri(sha256))) === null) {
    throw new TerminalError('artifact_unavailable', `other bytes stand at ${toArtifactUri(sha256)}`);
  }
}

/**
 * Reads an artifact and checks its hash.
 * @throws RetryableError `artifact_unavailable` when it is not there, does not match, or cannot be reached
 */
export async function getArtifact(bus: Bus, tenant: string, uri: string): Promise<Uint8Array> {
  const bytes = await fetchBytes(bus, tenant, uri);
  if (bytes === null) throw new RetryableError('artifact_unavailable', `${uri} is not there`);
  return bytes;
}

/** The bytes; null when the leader says there are none, or they are not what the address says. */
export async function fetchBytes(bus: Bus, tenant: string, uri: string): Promise<Uint8Array | null> {
  const sha256 = sha256OfArtifactUri(uri);
  try {
    const first = await lastBySubject(bus, STREAMS.blob, blobSubject.chunk(tenant, sha256, 0));
    if (first === null) return null;
    const parts: Uint8Array[] = [first.data];
    const chunks = chunksOf(first);
    if (chunks === null) return null;
    await eachOf(chunks - 1, async (index) => {
      const part = await lastBySubject(bus, STREAMS.blob, blobSubject.chunk(tenant, sha256, index + 1));
      if (part) parts[index + 1] = part.data;
    });
    const bytes = parts.length === 1 ? first.data : Buffer.concat(Array.from(parts, (part) => part ?? EMPTY));
    return sha256Hex(bytes) === sha256 ? bytes : null;
  } catch (error) {
    throw new RetryableError('artifact_unavailable', `${uri}: ${messageOf(error)}`, { cause: error });
  }
}

const EMPTY = new Uint8Array(0);

function chunksOf(first: StoredMessage): number | null {
  const chunks = Number(first.headers?.get(CHUNKS_HEADER) || 1);
  return Number.isSafeInteger(chunks) && chunks > 0 && chunks <= ARTIFACT_LIMIT / CHUNK_SIZE ? chunks : null;
}

async function eachOf(count: number, act: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: Math.min(WINDOW, count) }, work));
}
