import {
  blobSubject,
  EMPTY_LANE,
  eventSubject,
  type LogEntry,
  laneFilter,
  STREAMS,
  toArtifactUri,
} from '@interlock/contracts';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  append,
  type Bus,
  canonicalJson,
  decodeMessage,
  getArtifact,
  putArtifact,
  RetryableError,
  readRange,
  sha256Hex,
  systemIds,
  TerminalError,
} from '../src/index.ts';
import { leaderGet } from '../src/stream-get.ts';
import { denied, intent } from './drafts.ts';
import { type House, intentLane, makeKeys, newSession, startHouse, verifierOf, writerOf } from './house.ts';

let house: House;
let bus: Bus;
const gateway = writerOf('provider-gateway');

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
});
afterAll(() => house.stop());

async function roundTrip(rawInput: unknown): Promise<{ entry: LogEntry; stored: string }> {
  const lane = intentLane(newSession(), 'i1');
  const result = await append(bus, gateway, lane, EMPTY_LANE, intent(rawInput));
  if (!result.ok) throw new Error('conflict');
  const [entry] = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
  const stored = await leaderGet(bus, STREAMS.events, { seq: result.tail.seq });
  if (!entry || !stored) throw new Error('not stored');
  expect(entry).toEqual({ ...result.entry, authenticity: 'unchecked' });
  return { entry, stored: Buffer.from(stored.data).toString() };
}

describe('spill', () => {
  test('stores an argument of 3 MB apart and restores it', async () => {
    const rawInput = { path: 'a.txt', content: 'ä'.repeat(1_500_000) };
    const { entry, stored } = await roundTrip(rawInput);
    expect(entry).toMatchObject({ data: { rawInput } });
    expect(stored.length).toBeLessThan(1500);
    expect(JSON.parse(stored).data.$spilled).toEqual(['/rawInput/content']);
  });

  test('leaves JSON alone that looks like a reference', async () => {
    const uri = toArtifactUri('0'.repeat(64));
    const reference = { $artifact: uri, sizeBytes: 3, encoding: 'text' };
    const small = { $spilled: ['/rawInput/x'], x: reference };
    expect((await roundTrip(small)).entry).toMatchObject({ data: { rawInput: small } });
    const beside = { ...small, 'odd/~key': 'y'.repeat(70_000) };
    const { entry, stored } = await roundTrip(beside);
    expect(entry).toMatchObject({ data: { rawInput: beside } });
    expect(JSON.parse(stored).data.$spilled).toEqual(['/rawInput/odd~1~0key']);
  });

  test('stores fields whole when many small ones are too much together', async () => {
    const rawInput = {
      parts: Array.from({ length: 30 }, (_, n) => `${n}`.repeat(30_000)),
      big: 'z'.repeat(80_000),
    };
    const { entry, stored } = await roundTrip(rawInput);
    expect(entry).toMatchObject({ data: { rawInput } });
    expect(JSON.parse(stored).data.$spilled).toEqual(['/rawInput', '/rawInput/big']);
  });

  test('keeps own members of odd names and depth', async () => {
    const odd = JSON.parse(`{"__proto__":{"polluted":"${'p'.repeat(70_000)}"},"constructor":"c"}`);
    const { entry } = await roundTrip(odd);
    expect(JSON.stringify((entry as { data?: { rawInput?: unknown } }).data?.rawInput)).toBe(
      JSON.stringify(odd),
    );
    expect({}).not.toHaveProperty('polluted');
    let deep: unknown = 'd'.repeat(70_000);
    for (let level = 0; level < 20_000; level++) deep = [deep];
    const lane = intentLane(newSession(), 'i1');
    expect(await append(bus, gateway, lane, EMPTY_LANE, intent(deep))).toMatchObject({ ok: true });
    expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toMatchObject([
      { type: 'tool.intent' },
    ]);
  });

  test.each([1_048_000, 1_048_400, 1_048_570, 1_048_576])('takes an event of %i bytes', async (size) => {
    const frame = (await roundTrip('')).stored.length;
    const rawInput = 'b'.repeat(size - frame);
    expect((await roundTrip(rawInput)).entry).toMatchObject({ data: { rawInput } });
  });

  test.each([1_048_000, 1_048_400, 1_048_570, 1_048_576])(
    'reads an event of %i bytes that somebody else stored whole',
    async (size) => {
      const lane = intentLane(newSession(), 'i1');
      const subject = eventSubject({ ...lane, type: 'tool.intent' });
      const head = headers();
      head.set('traceparent', '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01');
      const body = (text: string): string =>
        canonicalJson({
          specversion: '1.0',
          id: '01J00000000000000000000000',
          type: 'tool.intent',
          source: 'interlock/other/1',
          time: '2026-11-30T12:00:00.000Z',
          subject,
          datacontenttype: 'application/json',
          dataschema: 'urn:interlock:tool.intent:v1',
          tenant: 'local',
          session: lane.session,
          intent: 'i1',
          correlationid: lane.session,
          nonce: systemIds.nonce(),
          prevseq: 0,
          prevhash: '0'.repeat(64),
          data: { ...intent(text).data },
        });
      const headBytes = 'NATS/1.0\r\ntraceparent: \r\n\r\n'.length + head.get('traceparent').length;
      const text = 'c'.repeat(size - headBytes - body('').length);
      await bus.request(subject, body(text), { timeoutMs: 5000, headers: head });
      const [byBatch] = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 });
      expect(byBatch).toMatchObject({ type: 'tool.intent', data: { rawInput: text } });
      const atLeader = await leaderGet(bus, STREAMS.events, { last_by_subj: subject });
      if (!atLeader) throw new Error('not stored');
      expect(await decodeMessage(bus, atLeader)).toEqual(byBatch);
    },
  );

  test('refuses what fits in no way, before anything is stored', async () => {
    const lane = intentLane(newSession(), 'i1');
    const fits = append(bus, gateway, lane, EMPTY_LANE, { ...intent(1), causationid: 'c'.repeat(950_000) });
    await expect(fits).rejects.toMatchObject({ code: 'message_too_large' });
    const huge = append(bus, gateway, lane, EMPTY_LANE, intent('h'.repeat(65 * 1024 * 1024)));
    await expect(huge).rejects.toThrow(TerminalError);
    expect(await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 })).toEqual([]);
  });

  test('covers what is stored apart by the signature', async () => {
    const keys = makeKeys('policy-engine');
    const lane = intentLane(newSession(), 'i1');
    const policy = writerOf('policy-engine', keys.signer('policy-engine'));
    const reason = 'because '.repeat(10_000);
    await append(bus, policy, lane, EMPTY_LANE, denied(reason));
    const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1 }, verifierOf(keys));
    expect(entries).toMatchObject([{ authenticity: 'verified', data: { reason } }]);
  });
});

describe('a stored message whose references lead nowhere', () => {
  test('is unreadable under a tenant that is none', async () => {
    const data = Buffer.from(JSON.stringify({ data: { $spilled: ['/x'], x: reference } }));
    const subject = 'ev.v1.no$tenant.s1.u.user.message';
    expect(await decodeMessage(bus, { subject, seq: 1, data })).toMatchObject({ code: 'unreadable_event' });
  });

  async function decodeWith(data: unknown): Promise<LogEntry> {
    const lane = intentLane(newSession(), 'i1');
    const subject = eventSubject({ ...lane, type: 'tool.intent' });
    const bytes = Buffer.from(JSON.stringify({ data }));
    return decodeMessage(bus, { subject, seq: 1, data: bytes });
  }
  const reference = {
    $artifact: toArtifactUri(sha256Hex('nobody stored this')),
    sizeBytes: 18,
    encoding: 'text',
  };

  test('is unreadable', async () => {
    expect(await decodeWith({ rawInput: reference, $spilled: ['/rawInput'] })).toMatchObject({
      type: 'unreadable',
      code: 'artifact_unavailable',
    });
    for (const $spilled of [7, ['rawInput'], ['/toString'], ['/__proto__/x'], [3]]) {
      expect(await decodeWith({ rawInput: reference, $spilled })).toMatchObject({ code: 'unreadable_event' });
    }
  });

  test('is unreadable when the bytes are not what the address says', async () => {
    const sha256 = sha256Hex('the real bytes');
    const head = headers();
    await bus.request(blobSubject.chunk('local', sha256, 0), 'other bytes!!!', {
      timeoutMs: 5000,
      headers: head,
    });
    const data = {
      rawInput: { ...reference, $artifact: toArtifactUri(sha256), sizeBytes: 14 },
      $spilled: ['/rawInput'],
    };
    expect(await decodeWith(data)).toMatchObject({ code: 'artifact_unavailable' });
    await expect(putArtifact(bus, 'local', 'the real bytes', { mediaType: 'text/plain' })).rejects.toThrow(
      TerminalError,
    );
  });
});

describe('artifacts', () => {
  test.each([0, 1, 262_144, 262_145, 5_000_000])('of %i bytes come back', async (size) => {
    const bytes = Buffer.alloc(size, 'abcdefg');
    const ref = await putArtifact(bus, 'local', bytes, {
      mediaType: 'application/octet-stream',
      name: 'x.bin',
    });
    expect(ref).toEqual({
      uri: toArtifactUri(sha256Hex(bytes)),
      sizeBytes: size,
      mediaType: 'application/octet-stream',
      name: 'x.bin',
    });
    expect(Buffer.compare(await getArtifact(bus, 'local', ref.uri), bytes)).toBe(0);
    // A second time, and by two at once.
    await Promise.all([1, 2].map(() => putArtifact(bus, 'local', bytes, { mediaType: 'text/plain' })));
  });

  test('are of one tenant', async () => {
    const { uri } = await putArtifact(bus, 'local', 'mine', { mediaType: 'text/plain' });
    await expect(getArtifact(bus, 'other', uri)).rejects.toMatchObject({ code: 'artifact_unavailable' });
    await expect(getArtifact(bus, 'other', uri)).rejects.toThrow(RetryableError);
  });
});
