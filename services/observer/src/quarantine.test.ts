import type { EventQuarantinedV1, EventType, Stage } from '@interlock/contracts';
import { type LogBuilder, sample, takeCall } from '@interlock/contracts/testing';
import { describe, expect, test } from 'vitest';
import { asked, called } from '../test/given.ts';
import { judgeQuarantine, type Remedy } from './quarantine.ts';

type Code = EventQuarantinedV1['code'];

function judge(log: LogBuilder, seq: number, code: Code, isLate = true): Remedy {
  const { subject } = log.entries[seq - 1] ?? { subject: '' };
  return judgeQuarantine(log.state(), { session: 'demo', seq, subject, code, reason: 'why' }, isLate);
}

/** A call at a stage, and behind it a stray that its lane skips. */
function strayBehind(
  stage: Stage,
  type: EventType,
  authenticity: 'forged' | 'verified' = 'forged',
): LogBuilder {
  const log = called({ a: stage });
  log.append(type, sample(type), { intent: 'a', authenticity });
  return log;
}

const stepOf = (log: LogBuilder): number => log.state().calls.a?.step?.seq ?? 0;

describe('a stray alone stops nobody', () => {
  test.each(['illegal_transition', 'chain_broken'] as const)('%s', (code) => {
    const log = strayBehind('validated', 'tool.intent', 'verified');
    expect(judge(log, log.seq, code)).toEqual({ kind: 'advance' });
  });

  test('a forged fact: the claim stands, its holder goes on', () => {
    const log = strayBehind('started', 'tool.execution.completed');
    expect(judge(log, log.seq, 'bad_signature')).toEqual({ kind: 'advance' });
  });

  test('a forged claim or fact behind a permit: an executor takes it up, or it expires', () => {
    for (const type of ['tool.execution.started', 'tool.execution.completed'] as const) {
      const log = strayBehind('allowed', type);
      expect(judge(log, log.seq, 'bad_signature')).toEqual({ kind: 'advance' });
    }
  });

  test('a forged ask: whoever asks checks its own asks', () => {
    const log = strayBehind('validated', 'tool.approval.asked');
    expect(judge(log, log.seq, 'bad_signature')).toEqual({ kind: 'advance' });
  });

  test('a forged permit after which a legal step came', () => {
    const log = strayBehind('validated', 'tool.approval.allowed');
    const { seq } = log;
    takeCall(log, 'a', 'asked');
    expect(judge(log, seq, 'bad_signature')).toEqual({ kind: 'advance' });
  });

  test('in a lane of no call, or with no subject of ours', () => {
    const log = called({ a: 'validated' });
    const junk = log.junk('i', 'nobody');
    expect(judge(log, junk.seq, 'unreadable_event')).toEqual({ kind: 'advance' });
    const data = { seq: 1, subject: 'ev.v1', code: 'unreadable_event', reason: '' } as const;
    expect(judgeQuarantine(log.state(), data, true)).toEqual({ kind: 'advance' });
  });
});

describe('a lane that stands still because folds differ', () => {
  test.each(['validated', 'asked'] as const)('a forged decision on a call that is %s', (stage) => {
    for (const type of ['tool.approval.allowed', 'tool.approval.denied'] as const) {
      const log = strayBehind(stage, type);
      expect(judge(log, log.seq, 'bad_signature', false)).toEqual({ kind: 'wait' });
      expect(judge(log, log.seq, 'bad_signature')).toMatchObject({ kind: 'withdraw', intents: ['a'] });
    }
  });

  test('a step that this house cannot read where that step was due', () => {
    const unread = called({ a: 'proposed' });
    const data = {
      seq: unread.seq + 1,
      subject: 'ev.v1.local.demo.i.a.tool.validated',
      code: 'unknown_version',
      reason: 'version 9',
    } as const;
    expect(judgeQuarantine(unread.state(), data, false)).toEqual({ kind: 'wait' });
    expect(judgeQuarantine(unread.state(), data, true)).toMatchObject({ kind: 'withdraw', intents: ['a'] });
    const elsewhere = { ...data, subject: 'ev.v1.local.demo.i.a.tool.intent' };
    expect(judgeQuarantine(unread.state(), elsewhere, true)).toEqual({ kind: 'advance' });
  });
});

describe('a dead letter', () => {
  test.each(['proposed', 'validated', 'allowed', 'asked'] as const)(
    'of the last step of a call that is %s: withdrawn at once',
    (stage) => {
      const log = called({ a: stage });
      expect(judge(log, stepOf(log), 'dead_letter', false)).toMatchObject({
        kind: 'withdraw',
        intents: ['a'],
      });
    },
  );

  test('of the claim: its holder or the watch ends it', () => {
    const log = called({ a: 'started' });
    expect(judge(log, stepOf(log), 'dead_letter')).toEqual({ kind: 'advance' });
  });

  test.each(['invalid', 'denied', 'cancelled', 'completed'] as const)('of an end (%s): observed', (stage) => {
    const log = called({ a: stage });
    expect(judge(log, stepOf(log), 'dead_letter')).toMatchObject({ kind: 'observe', call: { intent: 'a' } });
  });

  test('of an observation: the journal is looked at again', () => {
    const log = called({ a: 'observed' });
    expect(judge(log, stepOf(log), 'dead_letter')).toEqual({ kind: 'advance' });
  });

  test('of an observation: a call that it freed and nobody took up is withdrawn', () => {
    const log = called({ a: 'observed', b: 'proposed', c: 'allowed' });
    expect(judge(log, stepOf(log), 'dead_letter', false)).toEqual({ kind: 'wait' });
    expect(judge(log, stepOf(log), 'dead_letter')).toMatchObject({ kind: 'withdraw', intents: ['b'] });
  });

  test('of an open request: it is lost', () => {
    const log = asked('unclaimed');
    const { request } = log.state();
    expect(judge(log, request?.seq ?? 0, 'dead_letter', false)).toMatchObject({
      kind: 'lost',
      requestId: request?.id,
    });
  });

  test('of a request that was answered: intents that were not derived never come', () => {
    const log = called({ a: 'proposed', b: 'declared' });
    const requested = log.entries.findLast(({ type }) => type === 'model.requested')?.seq ?? 0;
    expect(judge(log, requested, 'dead_letter')).toMatchObject({ kind: 'withdraw', intents: ['b'] });
  });

  test('of an earlier request: nothing hangs on it', () => {
    const log = called({ a: 'observed' });
    const first = log.entries.find(({ type }) => type === 'model.requested')?.seq ?? 0;
    log.append('model.requested', sample('model.requested', { throughSeq: log.seq }));
    expect(judge(log, first, 'dead_letter')).toEqual({ kind: 'advance' });
  });
});

test('an answer that cannot be read: the request is lost, unless its gateway goes on', () => {
  const log = asked();
  const data = {
    seq: log.seq + 1,
    subject: 'ev.v1.local.demo.s.model.message',
    code: 'unreadable_event',
    reason: 'data/parts',
  } as const;
  log.junk('s');
  expect(judgeQuarantine(log.state(), data, false)).toEqual({ kind: 'wait' });
  expect(judgeQuarantine(log.state(), data, true)).toMatchObject({ kind: 'lost' });
  log.append('model.retrying', sample('model.retrying'));
  expect(judgeQuarantine(log.state(), data, true)).toEqual({ kind: 'advance' });
});
