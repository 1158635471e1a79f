import {
  type Envelope,
  type EventType,
  eventSubject,
  GENESIS_HASH,
  ROLES,
  type Role,
} from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical.ts';
import { sha256Hex } from './hashing.ts';
import {
  createSigner,
  generateKeyPair,
  KeyRing,
  type Signer,
  signEnvelope,
  type TrustedKey,
  verifyEnvelope,
} from './signing.ts';

function newKey(role: Role, more: Partial<TrustedKey> = {}): { signer: Signer; trusted: TrustedKey } {
  const pair = generateKeyPair();
  const signer = createSigner(pair.privateKey);
  return { signer, trusted: { keyid: signer.keyid, role, publicKey: pair.publicKey, ...more } };
}

function envelope(type: EventType, data: unknown, pool?: string): Envelope {
  const lane = type === 'tool.answer' ? 'u' : 'i';
  return {
    specversion: '1.0',
    id: '01J00000000000000000000000',
    type,
    source: 'interlock/test/1',
    time: '2026-11-30T12:00:00.000Z',
    subject: eventSubject({ tenant: 'local', session: 's1', lane, intent: 'i1', type, pool }),
    datacontenttype: 'application/json',
    dataschema: `urn:interlock:${type}:v1`,
    tenant: 'local',
    session: 's1',
    correlationid: 's1',
    nonce: 'nonce-nonce',
    prevseq: 0,
    prevhash: GENESIS_HASH,
    data,
  };
}

function judge(stored: object, ring: KeyRing, roles: readonly Role[] = ['policy-engine']): string {
  const text = canonicalJson(stored);
  return verifyEnvelope(JSON.parse(text), sha256Hex(text), ring, roles);
}

describe('a signature', () => {
  const policy = newKey('policy-engine');
  const ring = new KeyRing([policy.trusted]);
  const plain = envelope('tool.approval.denied', { reason: 'no', n: 1.5 });
  const signed = signEnvelope(plain, policy.signer);

  test('is verified, also a second time', () => {
    expect(judge(signed, ring)).toBe('verified');
    expect(judge(signed, ring)).toBe('verified');
    expect(judge({ ...signed, unknownAttribute: 1 }, ring)).toBe('forged');
  });

  test('covers every attribute and the data', () => {
    for (const key of Object.keys(signed)) {
      if (key === 'signature') continue;
      const changed = {
        ...signed,
        [key]: key === 'data' ? { reason: 'yes', n: 1.5 } : `${signed[key as keyof Envelope]}x`,
      };
      expect(judge(changed, ring), key).toBe('forged');
    }
  });

  test('does not travel to another event', () => {
    const other = envelope('tool.approval.denied', { reason: 'other' });
    expect(judge({ ...other, keyid: signed.keyid, signature: signed.signature }, ring)).toBe('forged');
  });

  test.each([
    ['missing', { ...plain }],
    ['without a key', { ...plain, signature: signed.signature }],
    ['of another form', { ...signed, signature: 7 }],
    ['cut', { ...signed, signature: signed.signature?.slice(0, 40) }],
    ['empty', { ...signed, signature: '' }],
  ])('%s is a forgery', (_name, stored) => {
    expect(judge(stored, ring)).toBe('forged');
  });

  test('by a key that nobody trusts is a forgery', () => {
    const stranger = newKey('policy-engine');
    expect(judge(signEnvelope(plain, stranger.signer), ring)).toBe('forged');
    // Under a trusted key's name.
    expect(judge({ ...signEnvelope(plain, stranger.signer), keyid: policy.signer.keyid }, ring)).toBe(
      'forged',
    );
  });

  test('is judged by ring and role each time, whatever was remembered', () => {
    expect(judge(signed, ring)).toBe('verified');
    expect(judge(signed, ring, ['observer'])).toBe('forged');
    expect(judge(signed, new KeyRing([]))).toBe('forged');
    expect(judge(signed, new KeyRing([{ ...policy.trusted, role: 'observer' }]))).toBe('forged');
    expect(judge(signed, ring)).toBe('verified');
  });

  test.each(ROLES.filter((role) => role !== 'policy-engine'))('by the role %s is a forgery', (role) => {
    const key = newKey(role);
    expect(judge(signEnvelope(plain, key.signer), new KeyRing([key.trusted]))).toBe('forged');
  });

  test('of an executor counts for its pool only', () => {
    const fs = newKey('executor', { pool: 'fs' });
    const pools = new KeyRing([fs.trusted]);
    const roles = ['executor', 'observer'] as const;
    const own = signEnvelope(envelope('tool.execution.completed', {}, 'fs'), fs.signer);
    const foreign = signEnvelope(envelope('tool.execution.completed', {}, 'shell'), fs.signer);
    expect(judge(own, pools, roles)).toBe('verified');
    expect(judge(foreign, pools, roles)).toBe('forged');
  });

  test('of a person counts for that person only', () => {
    const ada = newKey('client', { person: 'ada' });
    const people = new KeyRing([ada.trusted]);
    const own = signEnvelope(envelope('tool.answer', { person: 'ada' }), ada.signer);
    const foreign = signEnvelope(envelope('tool.answer', { person: 'bob' }), ada.signer);
    const nobody = signEnvelope(envelope('tool.answer', 'text'), ada.signer);
    expect(judge(own, people, ['client'])).toBe('verified');
    expect(judge(foreign, people, ['client'])).toBe('forged');
    expect(judge(nobody, people, ['client'])).toBe('forged');
  });

  test('does not cover text that has no canonical form', () => {
    const odd = signEnvelope(envelope('tool.approval.denied', { reason: '\ufffd' }), policy.signer);
    const raw = JSON.parse(JSON.stringify(odd).replace('\ufffd', String.raw`\ud800`));
    expect(verifyEnvelope(raw, 'a'.repeat(64), ring, ['policy-engine'])).toBe('forged');
  });
});

test('a signer keeps to Ed25519', () => {
  expect(() => createSigner('bm90IGEga2V5')).toThrow();
});
