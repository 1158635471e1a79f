import {
  type ConversationState,
  evolve,
  initialRegistry,
  initialState,
  type LogEntry,
} from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { causeOf } from './dead-letters.ts';
import { foldableAddress, misplaced, strayInRegistry, strayInSession, strayOf } from './quarantine.ts';

const hash = 'a'.repeat(64);
const state = (): ConversationState => evolve(initialState('local', 's1'), opened(1, 'A'));

function event(seq: number, id: string, more: Record<string, unknown>): LogEntry {
  const type = String(more.type);
  const subject = String(more.subject ?? `ev.v1.local.s1.u.${type}`);
  const envelope = {
    id: id.padStart(26, '0'),
    tenant: 'local',
    session: 's1',
    time: '2026-01-01T00:00:00Z',
    ...more,
  };
  return { seq, hash, subject, authenticity: 'unchecked', ...more, envelope } as unknown as LogEntry;
}
const opened = (seq: number, id: string): LogEntry =>
  event(seq, id, {
    type: 'session.opened',
    data: { workspace: '/w', mode: 'normal', model: { provider: 'scripted', model: 'm' }, person: 'ada' },
  });
const said = (seq: number, id: string): LogEntry =>
  event(seq, id, { type: 'user.message', data: { text: 'hi', attachments: [], person: 'ada' } });
const unreadable = (subject: string): LogEntry => ({
  type: 'unreadable',
  seq: 9,
  subject,
  hash,
  code: 'unknown_type',
  reason: 'no type "x"',
});

describe('strays of a session', () => {
  test('unreadable', () => {
    expect(strayInSession(state(), unreadable('ev.v1.local.s1.i.i1.x'))).toEqual({
      tenant: 'local',
      data: {
        session: 's1',
        intent: 'i1',
        seq: 9,
        subject: 'ev.v1.local.s1.i.i1.x',
        code: 'unknown_type',
        reason: 'no type "x"',
      },
    });
  });

  test('illegal: a message to a session that was never opened', () => {
    const stray = strayInSession(initialState('local', 's1'), said(1, 'B'));
    expect(stray?.data).toMatchObject({ code: 'illegal_transition', seq: 1 });
  });

  test('illegal: a second opening under another id', () => {
    expect(strayInSession(state(), opened(2, 'B'))?.data.code).toBe('illegal_transition');
  });

  test('not one: the same message said again by a writer that lost its acknowledgement', () => {
    const after = evolve(state(), said(2, 'C'));
    expect(strayInSession(after, said(3, 'C'))).toBeNull();
  });

  test('forged, also under an id that is known', () => {
    const answer = event(3, 'A', { type: 'tool.answer', authenticity: 'forged', data: {} });
    expect(strayInSession(state(), answer)?.data.code).toBe('bad_signature');
  });

  test('not one: a legal event', () => {
    expect(strayInSession(state(), said(2, 'C'))).toBeNull();
  });
});

describe('strays of a registry', () => {
  const registered = (prevseq: number): LogEntry =>
    event(4, 'A', {
      type: 'tool.registered',
      subject: 'ev.v1.local.sys.tool.registered',
      prevseq,
      prevhash: '0'.repeat(64),
    });

  test('a broken chain', () => {
    expect(strayInRegistry(initialRegistry('local'), registered(3))?.data).toMatchObject({
      code: 'chain_broken',
      session: 'sys',
    });
  });

  test('not one: a chained event', () => {
    expect(strayInRegistry(initialRegistry('local'), registered(0))).toBeNull();
  });
});

describe('where a stray is told of', () => {
  test('a tenant that no subject may hold: the house tells', () => {
    const stray = misplaced(unreadable('ev.v1.a:b.s1.u.user.message'));
    expect(stray).toMatchObject({ tenant: '-', data: { session: 's1' } });
  });

  test('a session that no subject may hold is left out', () => {
    const { tenant, data } = misplaced(unreadable('ev.v1.local.s:1.u.user.message'));
    expect(tenant).toBe('local');
    expect(data.session).toBeUndefined();
  });

  test('a subject of another layout', () => {
    expect(foldableAddress('ev.v1.local')).toBeNull();
    expect(strayOf({ seq: 1, subject: 'ev.v1.local' }, 'unreadable_event', 'x'.repeat(2000))).toMatchObject({
      tenant: '-',
      data: { reason: 'x'.repeat(500) },
    });
  });

  test('a code that is no code of the wire', () => {
    expect(strayOf({ seq: 1, subject: 'ev.v1.local' }, 'internal', '').data.code).toBe('unreadable_event');
  });
});

describe('dead letters', () => {
  const advisory = { stream: 'EV', consumer: 'validator', stream_seq: 5, deliveries: 1 };

  test('a code of the wire is kept', () => {
    expect(causeOf({ ...advisory, reason: 'message_too_large: 2 MiB' })).toEqual({
      code: 'message_too_large',
      reason: 'validator gave up after 1 delivery: message_too_large: 2 MiB',
    });
  });

  test('any other is a dead letter', () => {
    expect(causeOf({ ...advisory, deliveries: 8, reason: 'internal: x is not a function' })).toEqual({
      code: 'dead_letter',
      reason: 'validator gave up after 8 deliveries: internal: x is not a function',
    });
    expect(causeOf(advisory).code).toBe('dead_letter');
  });
});
