import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holds } from '../testing/holds.ts';
import { DURABLES, executorDurable } from './durables.ts';
import { isSessionId, isToken } from './ids.ts';
import { EVENT_TYPES, EVENTS } from './registry.ts';
import {
  blobSubject,
  cellOf,
  controlSubject,
  type EventAddress,
  eventFilter,
  eventSubject,
  executorKey,
  InvalidTokenError,
  kvSubject,
  laneFilter,
  leaseKey,
  liveSubject,
  POOLED_TYPES,
  parseEventSubject,
  parseTimerSubject,
  rpcSubject,
  sessionFilter,
  TIMER_OWNER,
  type TimerKind,
  tailSubject,
  timerSubject,
} from './subjects.ts';

const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const notAToken = fc.string({ unit: 'grapheme', maxLength: 80 }).filter((text) => !isToken(text));

const address: fc.Arbitrary<EventAddress> = fc
  .record({
    tenant: token,
    session: token.filter(isSessionId),
    intent: token,
    pool: token,
    type: fc.constantFrom(...EVENT_TYPES),
  })
  .map(({ tenant, session, intent, pool, type }) => {
    const { lane } = EVENTS[type];
    return {
      tenant,
      session: lane === 'sys' ? 'sys' : session,
      lane,
      type,
      ...(lane === 'i' ? { intent } : {}),
      ...(POOLED_TYPES.has(type) ? { pool } : {}),
    };
  });

/** NATS' own rule: `*` is one token, `>` one or more. */
function matches(filter: string, subject: string): boolean {
  const wanted = filter.split('.');
  const given = subject.split('.');
  for (const [index, word] of wanted.entries()) {
    if (word === '>') return given.length > index;
    if (given[index] === undefined || (word !== '*' && word !== given[index])) return false;
  }
  return wanted.length === given.length;
}

describe('events', () => {
  test.each([
    [{ lane: 'u', type: 'user.message' }, 'ev.v1.local.demo.u.user.message'],
    [{ lane: 's', type: 'model.attempt.started' }, 'ev.v1.local.demo.s.model.attempt.started'],
    [{ lane: 'i', intent: 'call-1', type: 'tool.validated' }, 'ev.v1.local.demo.i.call-1.tool.validated'],
    [
      { lane: 'i', intent: 'call-1', type: 'tool.approval.allowed', pool: 'fs' },
      'ev.v1.local.demo.i.call-1.tool.approval.allowed.fs',
    ],
    [{ lane: 'x', type: 'job.ended' }, 'ev.v1.local.demo.x.job.ended'],
    [{ lane: 'sys', type: 'checkpoint' }, 'ev.v1.local.sys.checkpoint'],
  ] as const)('%o is spelled %s', (rest, subject) => {
    expect(eventSubject({ tenant: 'local', session: 'demo', ...rest })).toBe(subject);
  });

  test('parse after spelling is the identity', () => {
    holds(fc.property(address, (it) => void expect(parseEventSubject(eventSubject(it))).toEqual(it)));
  });

  test('every event is in its lane, its session and under its filters', () => {
    holds(
      fc.property(address, (it) => {
        const subject = eventSubject(it);
        expect(matches(laneFilter(it), subject)).toBe(true);
        expect(matches(sessionFilter(it.tenant, it.session), subject)).toBe(true);
        expect(
          matches(eventFilter({ ...it, tenant: '*', session: '*', intent: '*', pool: '*' }), subject),
        ).toBe(true);
      }),
    );
  });

  test('S3: lanes never overlap', () => {
    holds(
      fc.property(address, address, (one, other) => {
        const { tenant, session, lane, intent } = other;
        const same =
          tenant === one.tenant && session === one.session && lane === one.lane && intent === one.intent;
        expect(matches(laneFilter(one), eventSubject(other))).toBe(same);
      }),
    );
  });

  test('S3: not even when ids are spelled like lanes', () => {
    const lane = (session: string, kind: 'u' | 'i', intent?: string): string =>
      laneFilter({ tenant: 'local', session, lane: kind, intent });
    const subject = eventSubject({
      tenant: 'local',
      session: 'u',
      lane: 'i',
      intent: 'u',
      type: 'tool.intent',
    });
    expect(matches(lane('u', 'i', 'u'), subject)).toBe(true);
    expect(matches(lane('u', 'u'), subject)).toBe(false);
    expect(matches(laneFilter({ tenant: 'local', session: 'u', lane: 'sys' }), subject)).toBe(false);
  });

  test('S2: the filter of a lane does not depend on what else the address says', () => {
    const lane = { tenant: 'local', session: 'demo', lane: 'i', intent: 'call-1' } as const;
    const event = { ...lane, type: 'tool.approval.allowed', pool: 'fs' };
    expect(laneFilter(event)).toBe(laneFilter(lane));
    expect(laneFilter(lane)).toBe('ev.v1.local.demo.i.call-1.>');
  });

  test('S1: no bad token reaches a subject', () => {
    holds(
      fc.property(notAToken, (bad) => {
        const good = { tenant: 'local', session: 'demo', lane: 'i', intent: 'call-1' } as const;
        const type = 'tool.approval.allowed';
        for (const broken of [{ tenant: bad }, { session: bad }, { intent: bad }]) {
          expect(() => laneFilter({ ...good, ...broken })).toThrow(InvalidTokenError);
          expect(() => eventSubject({ ...good, type, pool: 'fs', ...broken })).toThrow(InvalidTokenError);
        }
        expect(() => eventSubject({ ...good, type, pool: bad })).toThrow(InvalidTokenError);
        expect(() => sessionFilter('local', bad)).toThrow(InvalidTokenError);
      }),
    );
  });

  test('S1: a wildcard is a token of filters only', () => {
    expect(() => sessionFilter('*', 'demo')).toThrow(InvalidTokenError);
    expect(() => laneFilter({ tenant: 'local', session: '*', lane: 'u' })).toThrow(InvalidTokenError);
    expect(eventFilter({ tenant: '*', session: '*', lane: 'u', type: 'user.message' })).toBe(
      'ev.v1.*.*.u.user.message',
    );
    expect(() => eventFilter({ tenant: '>', session: '*', lane: 'u', type: 'user.message' })).toThrow(
      InvalidTokenError,
    );
  });

  test('an intent lane and a routed type need their id', () => {
    expect(() => laneFilter({ tenant: 'local', session: 'demo', lane: 'i' })).toThrow(InvalidTokenError);
    expect(() =>
      eventSubject({
        tenant: 'local',
        session: 'demo',
        lane: 'i',
        intent: 'a',
        type: 'tool.execution.started',
      }),
    ).toThrow(InvalidTokenError);
  });

  test.each([
    '',
    'ev',
    'ev.v2.local.demo.u.user.message',
    'tail.v1.local.demo.u.user.message',
    'ev.v1.local.demo.u',
    'ev.v1.local.demo.i.call-1',
    'ev.v1.local.demo.q.user.message',
    'ev.v1..demo.u.user.message',
    'ev.v1.local.sys',
  ])('%j is no event', (subject) => expect(parseEventSubject(subject)).toBeNull());

  test('parsing is total', () => {
    holds(fc.property(fc.string(), (text) => void parseEventSubject(text)));
  });
});

describe('durables', () => {
  test('every filter of a service on the log matches the types it names and is one of ours', () => {
    for (const durable of [...Object.values(DURABLES), executorDurable('fs')]) {
      for (const filter of durable.filters) expect(filter).toMatch(/^(ev|timer)\.v1\./);
    }
  });

  test('an executor is woken by the permits of its pool alone', () => {
    const [filter = ''] = executorDurable('fs').filters;
    const permit = (pool: string): string =>
      eventSubject({
        tenant: 't',
        session: 's',
        lane: 'i',
        intent: 'a',
        type: 'tool.approval.allowed',
        pool,
      });
    expect(matches(filter, permit('fs'))).toBe(true);
    expect(matches(filter, permit('shell'))).toBe(false);
  });

  test('filters of one durable do not overlap', () => {
    for (const { filters } of Object.values(DURABLES)) {
      for (const one of filters) {
        const concrete = one.replaceAll('*', 'x').replace('>', 'x');
        expect(filters.filter((other) => matches(other, concrete))).toEqual([one]);
      }
    }
  });
});

describe('timers', () => {
  const kinds = Object.keys(TIMER_OWNER) as TimerKind[];

  test.each(kinds)('%s fires where its owner listens', (kind) => {
    const timer = { kind, tenant: 'local', session: 'demo', id: 'x1' };
    const fired = timerSubject.fired(timer);
    expect(parseTimerSubject(fired)).toEqual(timer);
    expect(matches(timerSubject.firedFilter(TIMER_OWNER[kind]), fired)).toBe(true);
    expect(matches(timerSubject.all, timerSubject.schedule(timer))).toBe(true);
    expect(timerSubject.schedule(timer)).not.toBe(fired);
  });

  test('one subject per thing that expires', () => {
    const timer = { kind: 'approval', tenant: 'local', session: 'demo', id: 'x1' } as const;
    const others = [
      { ...timer, id: 'x2' },
      { ...timer, session: 'd2' },
      { ...timer, kind: 'watch' as const },
    ];
    expect(new Set([timer, ...others].map(timerSubject.schedule)).size).toBe(4);
  });

  test.each([
    'timer.v1.due.observer.watch.local.demo',
    'timer.v1.due.observer.nap.local.demo.x',
    'timer.v1.at.watch.local.demo.x',
    'x',
    'timer.v1.due.observer.watch.local.demo.x.y',
  ])('%s is no fired timer', (subject) => expect(parseTimerSubject(subject)).toBeNull());
});

describe('the other subjects', () => {
  test('are spelled so', () => {
    expect(cellOf('local')).toBe('EV');
    expect(tailSubject.session('local', 'demo')).toBe('tail.v1.local.demo.>');
    expect(tailSubject.tenant('local')).toBe('tail.v1.local.>');
    expect(blobSubject.chunk('local', 'ab', 0)).toBe('blob.v1.local.ab.0');
    expect(liveSubject.of('local', 'demo', 'text', 'r1')).toBe('live.v1.local.demo.text.r1');
    expect(liveSubject.session('local', 'demo')).toBe('live.v1.local.demo.>');
    expect(rpcSubject.preflight('local', 'fs')).toBe('rpc.v1.local.preflight.fs');
    expect(rpcSubject.register('-', 'fs')).toBe('rpc.v1.-.register.fs');
    expect(rpcSubject.evaluate('cel')).toBe('rpc.v1.policy.evaluate.cel');
    expect(rpcSubject.query('local', 'events')).toBe('rpc.v1.local.query.events');
    expect(controlSubject.cancel('local', 'demo')).toBe('ctl.v1.local.demo.cancel');
    expect(executorKey('fs', 'w1')).toBe('executor.fs.w1');
    expect(leaseKey('fs', 'call-1')).toBe('fs.call-1');
    expect(kvSubject('lease', 'fs.call-1')).toBe('$KV.lease.fs.call-1');
  });

  test('S1 holds for them as well', () => {
    const bad = 'a.b';
    const spell = [
      () => tailSubject.session(bad, 'demo'),
      () => tailSubject.tenant(bad),
      () => blobSubject.chunk('local', bad, 0),
      () => liveSubject.of('local', 'demo', 'text', bad),
      () => liveSubject.session('local', bad),
      () => timerSubject.schedule({ kind: 'watch', tenant: 'local', session: 'demo', id: bad }),
      () => rpcSubject.preflight(bad, 'fs'),
      () => rpcSubject.register('local', bad),
      () => rpcSubject.evaluate(bad),
      () => rpcSubject.query(bad, 'events'),
      () => controlSubject.cancel('local', bad),
      () => executorKey('fs', bad),
      () => leaseKey(bad, 'call-1'),
    ];
    for (const one of spell) expect(one).toThrow(InvalidTokenError);
  });

  test('the error says which token and what would do', () => {
    const error = new InvalidTokenError('x'.repeat(200));
    expect(error).toMatchObject({ name: 'InvalidTokenError', code: 'invalid_id', token: 'x'.repeat(200) });
    expect(error.message.length).toBeLessThan(200);
  });
});

test('ids: case counts, `sys` is reserved', () => {
  expect(isToken('A')).toBe(true);
  expect(isToken('')).toBe(false);
  expect(isToken('x'.repeat(65))).toBe(false);
  expect(isToken('ü')).toBe(false);
  expect(isToken('a\n')).toBe(false);
  expect(isSessionId('sys')).toBe(false);
  expect(isSessionId('SYS')).toBe(true);
});
