import { EMPTY_LANE, type EventType, eventSubject, type LogEntry } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../src/canonical.ts';
import type { Bus } from '../src/connection.ts';
import { decode, type Verifier } from '../src/decode.ts';
import { type EncodedEvent, encodeEvent, toStoredEvent } from '../src/encode.ts';
import type { AnyDraft, Writer } from '../src/writer.ts';
import { completed, denied, intent } from './drafts.ts';
import { intentLane, type Keys, makeKeys, writerOf } from './house.ts';

/** Nothing small needs a connection. */
const noBus = {} as Bus;
const lane = { ...intentLane('s1', 'i1'), pool: 'fs' };
const keys: Keys = makeKeys('policy-engine', 'observer', 'executor-fs', 'executor-shell');

function encode(writer: Writer, draft: AnyDraft): Promise<EncodedEvent> {
  return encodeEvent(noBus, writer, { lane, tail: EMPTY_LANE }, draft);
}

function read(encoded: EncodedEvent, verifier?: Verifier): LogEntry {
  const entry = decode(noBus, { subject: encoded.subject, seq: 7, data: encoded.bytes }, verifier);
  if (entry instanceof Promise) throw new Error('it should need no promise');
  return entry;
}

const verifier = (...types: EventType[]): Verifier => ({ keys: keys.ring, types: new Set(types) });

describe('decode', () => {
  test('gives what was encoded, in canonical bytes', async () => {
    const encoded = await encode(writerOf('observer', keys.signer('observer')), completed('fs'));
    const entry = read(encoded, { keys: keys.ring, types: 'all' });
    expect(entry).toEqual(toStoredEvent(encoded, 7));
    const text = Buffer.from(encoded.bytes).toString();
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });

  test('checks signatures of the types its reader acts on', async () => {
    const encoded = await encode(writerOf('policy-engine', keys.signer('policy-engine')), denied('no'));
    expect(read(encoded, verifier('tool.approval.denied'))).toMatchObject({ authenticity: 'verified' });
    expect(read(encoded, verifier('tool.answer'))).toMatchObject({ authenticity: 'unchecked' });
    expect(read(encoded)).toMatchObject({ authenticity: 'unchecked' });
    const unsigned = await encode(writerOf('provider-gateway'), intent({}));
    expect(read(unsigned, { keys: keys.ring, types: 'all' })).toMatchObject({ authenticity: 'unchecked' });
  });

  test.each([
    ['the wrong role', 'observer', denied('no')],
    ['the wrong pool', 'executor-shell', completed('fs')],
    ['a role that may not decide', 'executor-fs', denied('no')],
  ] as const)('calls an event of %s forged', async (_name, key, draft) => {
    const encoded = await encode(writerOf('policy-engine', keys.signer(key)), draft);
    expect(read(encoded, { keys: keys.ring, types: 'all' })).toMatchObject({
      type: draft.type,
      authenticity: 'forged',
    });
  });

  test('calls a changed event forged, and an unsigned one too', async () => {
    const encoded = await encode(writerOf('policy-engine', keys.signer('policy-engine')), denied('no'));
    const json = JSON.parse(Buffer.from(encoded.bytes).toString());
    const all: Verifier = { keys: keys.ring, types: 'all' };
    const changed = {
      ...encoded,
      bytes: Buffer.from(canonicalJson({ ...json, data: { ...json.data, reason: 'yes' } })),
    };
    expect(read(changed, all)).toMatchObject({ authenticity: 'forged', data: { reason: 'yes' } });
    const { signature: _, ...rest } = json;
    expect(read({ ...encoded, bytes: Buffer.from(canonicalJson(rest)) }, all)).toMatchObject({
      authenticity: 'forged',
    });
  });

  test.each([
    ['not JSON', 'unreadable_event'],
    ['[]', 'unreadable_event'],
    ['null', 'unreadable_event'],
    ['{}', 'unreadable_event'],
    ['', 'unreadable_event'],
  ])('of %j says why it cannot be read', (text, code) => {
    const subject = eventSubject({ ...lane, type: 'tool.intent' });
    const data = Buffer.from(text);
    expect(decode(noBus, { subject, seq: 3, data })).toMatchObject({
      type: 'unreadable',
      seq: 3,
      subject,
      code,
    });
  });

  test('does not read an event that stands elsewhere than it says', async () => {
    const encoded = await encode(writerOf('provider-gateway'), intent({}));
    const elsewhere = { ...encoded, subject: eventSubject({ ...lane, intent: 'i2', type: 'tool.intent' }) };
    expect(read(elsewhere)).toMatchObject({ type: 'unreadable', code: 'unreadable_event' });
  });

  test('drops what the contract does not know', async () => {
    const draft = intent({ kept: 1 });
    const more = { ...draft, data: { ...draft.data, $spilled: ['/x'], extra: 1 } };
    const encoded = await encode(writerOf('provider-gateway'), more);
    expect(Buffer.from(encoded.bytes).toString()).not.toMatch(/spilled|extra/);
    expect(read(encoded)).toMatchObject({ type: 'tool.intent', data: { rawInput: { kept: 1 } } });
  });
});
