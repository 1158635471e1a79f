import type { Stage } from '@interlock/contracts';
import { type LogBuilder, sample } from '@interlock/contracts/testing';
import { describe, expect, test } from 'vitest';
import { asked, called } from '../test/given.ts';
import { gaveUpOn, planStop } from './cancel.ts';

const cancelled = (log: LogBuilder): LogBuilder => {
  log.append('run.cancel', sample('run.cancel'));
  return log;
};

describe('what a cancel takes', () => {
  test('nothing while nobody cancels', () => {
    expect(planStop(called({ a: 'allowed' }).state())).toBeNull();
  });

  test('unclaimed calls are withdrawn, claimed ones told to stop, ended ones left alone', () => {
    const stages: Record<string, Stage> = {
      a: 'declared',
      b: 'proposed',
      c: 'validated',
      d: 'asked',
      e: 'allowed',
      f: 'started',
      g: 'completed',
      h: 'observed',
      i: 'denied',
      j: 'invalid',
      k: 'cancelled',
    };
    expect(planStop(cancelled(called(stages)).state())).toEqual({
      withdraw: ['a', 'b', 'c', 'd', 'e'],
      control: { intents: ['f'], reason: 'cancelled by ada' },
    });
  });

  test('an edited call is withdrawn in the place of the call it stands for', () => {
    const log = called({ a: 'asked' });
    log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by: 'b' }), {
      intent: 'a',
    });
    const supersedes = { intent: 'a', answerId: 'x', person: 'ada' };
    log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), { intent: 'b' });
    expect(planStop(cancelled(log).state())).toEqual({ withdraw: ['b'], control: null });
  });

  test('a gateway that streams is told which request', () => {
    const log = cancelled(asked());
    expect(planStop(log.state())?.control).toEqual({
      intents: [],
      requestId: log.state().request?.id,
      reason: 'cancelled by ada',
    });
  });

  test('the same for a session that was closed', () => {
    const log = called({ a: 'allowed', b: 'started' });
    log.append('session.closed', sample('session.closed'));
    expect(planStop(log.state())).toEqual({
      withdraw: ['a'],
      control: { intents: ['b'], reason: 'the session was closed' },
    });
  });
});

test('a gateway is given up on only after it was told, and had its time', () => {
  const state = cancelled(asked()).state();
  expect(gaveUpOn(state, { ageMs: 60_000, redeliveries: 0 }, 10_000)).toBeUndefined();
  expect(gaveUpOn(state, { ageMs: 9_999, redeliveries: 19 }, 10_000)).toBeUndefined();
  expect(gaveUpOn(state, { ageMs: 10_000, redeliveries: 19 }, 10_000)).toBe(state.request?.id);
});
