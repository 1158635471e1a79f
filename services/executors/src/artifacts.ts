/** Artifacts of one call. */
import { type ArtifactRef, toArtifactUri } from '@interlock/contracts';
import { type Bus, getArtifact, RetryableError, sha256Hex } from '@interlock/kit';
import type { Attachment } from './protocol/spool.ts';

/** Collects what a call attaches, to be stored before its fact is. */
export class Attachments {
  readonly #byUri = new Map<string, Attachment>();

  readonly attach = (bytes: Uint8Array, options: { mediaType: string; name?: string }): ArtifactRef => {
    const ref = { uri: toArtifactUri(sha256Hex(bytes)), sizeBytes: bytes.length, ...options };
    this.#byUri.set(ref.uri, { ref, bytes });
    return ref;
  };

  get all(): readonly Attachment[] {
    return [...this.#byUri.values()];
  }

  get refs(): readonly ArtifactRef[] {
    return this.all.map(({ ref }) => ref);
  }
}

/** Reads artifacts of a tenant; null when there is none of that address. */
export function artifactReader(bus: Bus, tenant: string): (uri: string) => Promise<Uint8Array | null> {
  return async (uri) => {
    try {
      return await getArtifact(bus, tenant, uri);
    } catch (error) {
      // Without a cause the leader has said so; with one it could not be asked.
      if (
        error instanceof RetryableError &&
        error.code === 'artifact_unavailable' &&
        error.cause === undefined
      )
        return null;
      throw error;
    }
  };
}
