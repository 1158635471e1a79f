/**
 * Facts that cannot be appended now, on disk: signed, private, until they are in the log.
 *
 * L1. A record appears whole or not at all, and is removed only when the log has its fact, or evidence of it.
 * L2. What is read back counts only when this executor's own signature on it is good: the disk is not the log.
 */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ArtifactRef,
  contractOf,
  type Envelope,
  envelopeSchema,
  eventSubject,
  type LaneTail,
  parseEvent,
  sha256OfArtifactUri,
  toDataSchemaUri,
} from '@interlock/contracts';
import {
  canonicalJson,
  type KeyRing,
  sha256Hex,
  signEnvelope,
  verifyEnvelope,
  type Writer,
} from '@interlock/kit';
import type { FactData } from './facts.ts';
import type { IntentLane } from './lane-view.ts';

/** Bytes that a fact refers to, to be stored before it is. */
export interface Attachment {
  readonly ref: ArtifactRef;
  readonly bytes: Uint8Array;
}

/** A fact on its way into the log. */
export interface PendingFact {
  /** Id of the event, the same for every try. */
  readonly id: string;
  readonly lane: IntentLane;
  readonly pool: string;
  readonly claimSeq: number;
  /** What the fact chains to. */
  readonly tail: LaneTail;
  readonly data: FactData;
  readonly attachments: readonly Attachment[];
  readonly run?: string | undefined;
  readonly turn?: number | undefined;
  readonly causationid?: string | undefined;
  readonly traceparent?: string | undefined;
}

const TYPE = 'tool.execution.completed';
const SUFFIX = '.fact.json';

export interface SpoolOptions {
  readonly directory: string;
  readonly writer: Writer;
  readonly keys: KeyRing;
}

export class Spool {
  readonly #directory: string;
  readonly #writer: Writer;
  readonly #keys: KeyRing;

  private constructor({ directory, writer, keys }: SpoolOptions) {
    this.#directory = directory;
    this.#writer = writer;
    this.#keys = keys;
  }

  /** Makes the directory. Throws when it cannot be used. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    return new Spool(options);
  }

  /** Writes a fact and its bytes; writing it again is harmless. */
  async write(fact: PendingFact): Promise<void> {
    const { signer } = this.#writer;
    if (!signer) throw new TypeError('a fact cannot be spooled without a key');
    for (const { ref, bytes } of fact.attachments) {
      await this.#store(`${fact.id}.${sha256OfArtifactUri(ref.uri)}.blob`, bytes);
    }
    const record = signEnvelope(this.#toEnvelope(fact), signer);
    await this.#store(`${fact.id}${SUFFIX}`, Buffer.from(canonicalJson(record)));
  }

  async #store(name: string, bytes: Uint8Array): Promise<void> {
    const draft = join(this.#directory, `${name}.tmp`);
    const handle = await open(draft, 'w', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, join(this.#directory, name));
  }

  /** Removes a fact that the log has. */
  async remove({ id }: Pick<PendingFact, 'id'>): Promise<void> {
    const names = await readdir(this.#directory);
    // The record first: bytes without it are rubbish, a record without its bytes would be a promise that is broken.
    const own = names.filter((name) => name.startsWith(`${id}.`)).sort((a) => (a.endsWith(SUFFIX) ? -1 : 1));
    for (const name of own) await rm(join(this.#directory, name), { force: true });
  }

  /** All facts on disk, oldest first. A record that is not this executor's is renamed to `.bad` and reported. */
  async list(onBad: (name: string, why: string) => void): Promise<PendingFact[]> {
    const facts: PendingFact[] = [];
    for (const name of (await readdir(this.#directory)).filter((one) => one.endsWith(SUFFIX)).sort()) {
      const read = await this.#read(name).catch((error: unknown) => String(error));
      if (typeof read !== 'string') {
        facts.push(read);
        continue;
      }
      onBad(name, read);
      await rename(join(this.#directory, name), join(this.#directory, `${name}.bad`));
    }
    return facts;
  }

  /** The fact of a record, or what is wrong with it. */
  async #read(name: string): Promise<PendingFact | string> {
    const bytes = await readFile(join(this.#directory, name));
    const raw: unknown = JSON.parse(bytes.toString('utf8'));
    const envelope = envelopeSchema.safeParse(raw);
    if (!envelope.success) return 'not an envelope';
    const { subject } = envelope.data;
    const parsed = parseEvent(raw, subject);
    if (!parsed.ok || parsed.type !== TYPE) return 'not a fact';
    const judged = verifyEnvelope(
      raw as Record<string, unknown>,
      sha256Hex(bytes),
      this.#keys,
      contractOf(TYPE).appendedBy,
    );
    if (judged !== 'verified' || envelope.data.keyid !== this.#writer.signer?.keyid)
      return 'not signed by this pool';
    return this.#toPending(envelope.data, parsed.data as FactData);
  }

  async #toPending(envelope: Envelope, data: FactData): Promise<PendingFact | string> {
    const { id, tenant, session, intent, prevseq, prevhash, run, turn, causationid, traceparent } = envelope;
    if (intent === undefined || prevseq === undefined || prevhash === undefined || data.claimSeq === null)
      return 'it names no claim';
    const attachments = await Promise.all(data.artifacts.map((ref) => this.#attachment(id, ref)));
    return {
      ...{ id, pool: data.pool, claimSeq: data.claimSeq, data, run, turn, causationid, traceparent },
      lane: { tenant, session, intent },
      tail: { seq: prevseq, hash: prevhash },
      attachments: attachments.filter((one) => one !== null),
    };
  }

  async #attachment(id: string, ref: ArtifactRef): Promise<Attachment | null> {
    const sha256 = sha256OfArtifactUri(ref.uri);
    const bytes = await readFile(join(this.#directory, `${id}.${sha256}.blob`)).catch(() => null);
    return bytes && sha256Hex(bytes) === sha256 ? { ref, bytes } : null;
  }

  #toEnvelope({ id, lane, pool, tail, data, ...rest }: PendingFact): Envelope {
    const { tenant, session, intent } = lane;
    const { run, turn, causationid, traceparent } = rest;
    const { service, instance, clock, ids } = this.#writer;
    const given = Object.entries({ run, turn, causationid, traceparent }).filter(
      ([, value]) => value !== undefined,
    );
    return {
      specversion: '1.0',
      id,
      type: TYPE,
      source: `interlock/${service}/${instance}`,
      time: clock.now().toISOString(),
      subject: eventSubject({ tenant, session, lane: 'i', intent, type: TYPE, pool }),
      datacontenttype: 'application/json',
      dataschema: toDataSchemaUri(TYPE, contractOf(TYPE).version),
      ...{ tenant, session, intent, correlationid: session },
      ...{ prevseq: tail.seq, prevhash: tail.hash, nonce: ids.nonce() },
      ...Object.fromEntries(given),
      data,
    };
  }
}
