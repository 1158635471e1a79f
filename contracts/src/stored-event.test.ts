import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holds } from '../testing/holds.ts';
import { LogBuilder, modelTurn, sample, startRun, takeCall, toolCall } from '../testing/index.ts';
import { parseDataSchemaUri, toDataSchemaUri } from './envelope.ts';
import { sha256OfArtifactUri, toArtifactUri } from './ids.ts';
import { EVENT_TYPES, EVENTS } from './registry.ts';
import { isEvent, parseEvent } from './stored-event.ts';

/** The stored envelope of one `user.message`. */
function message(): Message {
  const log = new LogBuilder();
  log.append('user.message', sample('user.message'));
  return { ...log.envelopes[0], subject: 'ev.v1.local.demo.u.user.message' };
}

/** The stored envelope of one permit. */
function permit(): Message {
  const log = new LogBuilder();
  startRun(log);
  modelTurn(log, [toolCall('call-1')]);
  takeCall(log, 'call-1', 'allowed');
  return { ...log.envelopes.at(-1), subject: 'ev.v1.local.demo.i.call-1.tool.approval.allowed.fs' };
}

type Message = Record<string, unknown> & { subject: string };

const parse = (event: Message, subject = event.subject): ReturnType<typeof parseEvent> =>
  parseEvent(JSON.parse(JSON.stringify(event)), subject);

describe('refused', () => {
  test.each([null, 7, 'text', [], {}])('%j is no event', (json) => {
    expect(parseEvent(json, 'ev.v1.local.demo.u.user.message')).toMatchObject({
      ok: false,
      code: 'unreadable_event',
    });
  });

  test.each([
    ['specversion', '0.3'],
    ['id', 'not-a-ulid'],
    ['source', ''],
    ['time', 'yesterday'],
    ['time', '2026-11-30T12:00:00+01:00'],
    ['datacontenttype', 'text/plain'],
    ['dataschema', 'https://example.org/schema'],
    ['tenant', 'a.b'],
    ['session', 'a b'],
    ['turn', 0],
    ['turn', 1.5],
    ['prevseq', -1],
    ['prevhash', 'ABC'],
    ['nonce', 'short'],
    ['correlationid', ''],
  ])('%s: %j', (attribute, value) => {
    const parsed = parse({ ...message(), [attribute]: value });
    expect(parsed).toMatchObject({
      ok: false,
      code: 'unreadable_event',
      reason: expect.stringContaining(attribute),
    });
  });

  test.each(['specversion', 'id', 'type', 'source', 'time', 'dataschema', 'tenant', 'session', 'nonce'])(
    'without %s',
    (attribute) => {
      const { [attribute]: _gone, ...rest } = message();
      expect(parse({ ...rest, subject: message().subject })).toMatchObject({
        ok: false,
        code: 'unreadable_event',
      });
    },
  );

  test.each(['no.such.type', 'constructor', '__proto__', 'toString'])('the unknown type %s', (type) => {
    expect(parse({ ...message(), type })).toMatchObject({ ok: false, code: 'unknown_type' });
  });

  test('a schema of another type', () => {
    const dataschema = toDataSchemaUri('session.closed', 1);
    expect(parse({ ...message(), dataschema })).toMatchObject({ ok: false, code: 'unreadable_event' });
  });

  test('a version that is newer than this reader', () => {
    const dataschema = toDataSchemaUri('user.message', 2);
    expect(parse({ ...message(), dataschema })).toMatchObject({ ok: false, code: 'unknown_version' });
  });

  test('stored under another subject than it names', () => {
    const parsed = parse(message(), 'ev.v1.local.other.u.user.message');
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining('another subject') });
  });

  test.each([
    ['of another type', 'ev.v1.local.demo.u.run.cancel'],
    ['of another lane', 'ev.v1.local.demo.s.user.message'],
    ['of nobody', 'elsewhere'],
  ])('a subject %s', (_what, subject) => {
    expect(parse({ ...message(), subject })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('does not belong'),
    });
  });

  test.each([
    ['tenant', { tenant: 'other' }],
    ['session', { session: 'other' }],
  ])('another %s than its subject', (_what, change) => {
    expect(parse({ ...message(), ...change })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('differ from its subject'),
    });
  });

  test('another intent than its subject', () => {
    expect(parse({ ...permit(), intent: 'call-2' })).toMatchObject({
      ok: false,
      reason: 'intent differs from its subject',
    });
  });

  test('another pool than its subject', () => {
    const subject = 'ev.v1.local.demo.i.call-1.tool.approval.allowed.shell';
    expect(parse({ ...permit(), subject })).toMatchObject({
      ok: false,
      reason: 'pool differs from its subject',
    });
  });

  test('data that does not fit, with the place', () => {
    const parsed = parse({ ...message(), data: { text: 7, person: 'ada' } });
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringMatching(/^data\/text: /) });
  });
});

describe('accepted', () => {
  test('with defaults filled in', () => {
    expect(parse(message())).toMatchObject({
      ok: true,
      type: 'user.message',
      data: { text: 'Read README.md', attachments: [], person: 'ada' },
    });
  });

  test('unknown attributes and keys, which are dropped', () => {
    const event = message();
    const parsed = parse({
      ...event,
      novelty: 1,
      data: { ...sample('user.message'), novelty: { deep: true } },
    });
    if (!parsed.ok) throw new Error(parsed.reason);
    expect(parsed.envelope).not.toHaveProperty('novelty');
    expect(parsed.data).not.toHaveProperty('novelty');
  });

  test.each(EVENT_TYPES)('%s drops unknown keys of its data', (type) => {
    const data = { ...sample(type), novelty: { deep: true } };
    const parsed = EVENTS[type].schema.safeParse(data);
    expect(parsed.success).toBe(true);
    expect(parsed.data).not.toHaveProperty('novelty');
  });

  test('every sample, and parse after serialise is the identity', () => {
    for (const type of EVENT_TYPES) {
      const parsed = EVENTS[type].schema.parse(sample(type));
      expect(EVENTS[type].schema.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed);
    }
  });
});

test('parsing is total', () => {
  holds(
    fc.property(fc.jsonValue(), fc.string(), (json, subject) => {
      expect(parseEvent(json, subject).ok).toBe(false);
    }),
  );
  const attributes = fc.dictionary(fc.constantFrom(...Object.keys(message())), fc.jsonValue());
  holds(
    fc.property(attributes, (changed) => {
      expect(typeof parseEvent({ ...message(), ...changed }, message().subject).ok).toBe('boolean');
    }),
  );
});

test('isEvent narrows by type', () => {
  const log = new LogBuilder();
  const event = log.append('user.message', sample('user.message'));
  expect(isEvent(event, 'user.message')).toBe(true);
  expect(isEvent(event, 'run.cancel')).toBe(false);
  expect(isEvent(log.junk('u'), 'user.message')).toBe(false);
});

test('addresses of schemas and artifacts', () => {
  for (const type of EVENT_TYPES)
    expect(parseDataSchemaUri(toDataSchemaUri(type, 12))).toEqual({ type, version: 12 });
  for (const bad of ['', 'urn:interlock:a:v0', 'urn:interlock:A:v1', 'urn:other:a:v1', 'urn:interlock:a:v1x'])
    expect(parseDataSchemaUri(bad)).toBeNull();
  expect(sha256OfArtifactUri(toArtifactUri('ab'))).toBe('ab');
});
