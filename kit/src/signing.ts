/**
 * Ed25519 signatures over envelopes.
 *
 * G1. A signature covers the canonical bytes of the stored envelope without `signature`; large fields that were
 *     stored apart are covered by the hash that stands in their place.
 * G2. A key speaks for one role, an executor's for one pool, a person's for that person. A valid signature by a key
 *     that may not say this is a forgery.
 * G3. Only the arithmetic is remembered (by the hash of the stored bytes and the public key), never the verdict:
 *     who may say what is judged each time.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { type Envelope, parseEventSubject, type Role } from '@interlock/contracts';
import { strictCanonicalJson } from './canonical.ts';
import { sha256Hex } from './hashing.ts';
import { Lru } from './lru.ts';

/** Signs with a private key that stays in memory as a key object. */
export interface Signer {
  readonly keyid: string;
  /** Raw public key, 32 bytes, base64url. */
  readonly publicKey: string;
  /** Ed25519 signature, 64 bytes, base64url. */
  sign(bytes: Uint8Array): string;
}

/** A public key and what it may speak for. */
export interface TrustedKey {
  readonly keyid: string;
  readonly role: Role;
  /** Raw public key, 32 bytes, base64url. */
  readonly publicKey: string;
  /** A person's key: `data.person` must be this. */
  readonly person?: string | undefined;
  /** An executor's key: the pool in the subject must be this. */
  readonly pool?: string | undefined;
}

/** The keys a process trusts. Immutable; a change of trust makes a new ring. */
export class KeyRing {
  readonly #keys = new Map<string, TrustedKey>();

  constructor(keys: readonly TrustedKey[]) {
    for (const key of keys) this.#keys.set(key.keyid, key);
  }

  find(keyid: string): TrustedKey | undefined {
    return this.#keys.get(keyid);
  }

  list(): TrustedKey[] {
    return [...this.#keys.values()];
  }
}

/** Id of a key: the first 16 hexadecimal digits of the SHA-256 of its base64url public key. */
export function keyidOf(publicKey: string): string {
  return sha256Hex(publicKey).slice(0, 16);
}

/** A new Ed25519 pair: private key as PKCS #8 DER, public key raw, both base64url. */
export function generateKeyPair(): { privateKey: string; publicKey: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url'),
    publicKey: rawPublicKey(privateKey),
  };
}

function rawPublicKey(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new TypeError('not an Ed25519 key');
  return x;
}

/** A signer from a PKCS #8 DER private key, base64url. Throws when it is not an Ed25519 key. */
export function createSigner(privateKey: string): Signer {
  const key = createPrivateKey({ key: Buffer.from(privateKey, 'base64url'), type: 'pkcs8', format: 'der' });
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key');
  const publicKey = rawPublicKey(key);
  return {
    keyid: keyidOf(publicKey),
    publicKey,
    sign: (bytes) => sign(null, bytes, key).toString('base64url'),
  };
}

/** The envelope with `keyid` and `signature` set. */
export function signEnvelope(envelope: Envelope, signer: Signer): Envelope {
  const { signature: _, ...unsigned } = envelope;
  const claimed = { ...unsigned, keyid: signer.keyid };
  return { ...claimed, signature: signer.sign(Buffer.from(strictCanonicalJson(claimed))) };
}

const publicKeys = new Lru<string, KeyObject>(1000);
const checked = new Lru<string, boolean>(20_000);

function publicKeyOf(raw: string): KeyObject {
  const known = publicKeys.get(raw);
  if (known) return known;
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' });
  publicKeys.set(raw, key);
  return key;
}

/**
 * Judges the signature of a stored envelope. Total.
 *
 * @param raw the JSON as stored, before large fields are restored and before a schema drops anything
 * @param hash SHA-256 of the stored bytes
 * @param roles who may say this: `appendedBy` of the type
 */
export function verifyEnvelope(
  raw: Readonly<Record<string, unknown>>,
  hash: string,
  keys: KeyRing,
  roles: readonly Role[],
): 'verified' | 'forged' {
  const { keyid, signature } = raw;
  if (typeof keyid !== 'string' || typeof signature !== 'string') return 'forged';
  const key = keys.find(keyid);
  if (!key || !roles.includes(key.role) || !maySay(key, raw)) return 'forged';
  const place = `${hash}.${key.publicKey}`;
  const known = checked.get(place);
  if (known !== undefined) return known ? 'verified' : 'forged';
  const good = isSignedBy(key, raw, signature);
  checked.set(place, good);
  return good ? 'verified' : 'forged';
}

function isSignedBy(key: TrustedKey, raw: Readonly<Record<string, unknown>>, signature: string): boolean {
  try {
    const bytes = Buffer.from(strictCanonicalJson({ ...raw, signature: undefined }));
    return verify(null, bytes, publicKeyOf(key.publicKey), Buffer.from(signature, 'base64url'));
  } catch {
    // Text that has no canonical form, or a key that is none: nobody signed that.
    return false;
  }
}

function maySay(key: TrustedKey, raw: Readonly<Record<string, unknown>>): boolean {
  if (key.pool !== undefined && typeof raw.subject === 'string') {
    const pool = parseEventSubject(raw.subject)?.pool;
    if (pool !== undefined && pool !== key.pool) return false;
  }
  if (key.person === undefined) return true;
  const data = raw.data;
  return typeof data === 'object' && data !== null && 'person' in data && data.person === key.person;
}
