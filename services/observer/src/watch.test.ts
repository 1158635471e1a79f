import { sample, takeCall } from '@interlock/contracts/testing';
import { expect, test } from 'vitest';
import { asked, called } from '../test/given.ts';
import { planWatch } from './watch.ts';

const at = (time: string): number => Date.parse(`2026-11-30T${time}Z`);
const WATCH_MS = 30_000;

test('an idle session is watched no longer, a run is', () => {
  const log = called({ a: 'observed' });
  expect(planWatch(log.state(), at('12:00:30'), WATCH_MS)).toEqual({
    expired: [],
    lapsed: [],
    unobserved: [],
    againInMs: WATCH_MS,
  });
  log.append('run.finished', sample('run.finished', { throughSeq: log.seq }));
  expect(planWatch(log.state(), at('12:00:30'), WATCH_MS).againInMs).toBeNull();
});

test('a permit that nobody took up expires', () => {
  const state = called({ a: 'allowed', b: 'started' }).state();
  expect(planWatch(state, at('12:59:59.999'), WATCH_MS).expired).toEqual([]);
  expect(planWatch(state, at('13:00:00'), WATCH_MS).expired).toEqual(['a']);
});

test('a claim past its lease has lapsed', () => {
  const state = called({ a: 'allowed', b: 'started', c: 'completed' }).state();
  expect(planWatch(state, at('12:00:59'), WATCH_MS).lapsed).toEqual([]);
  expect(planWatch(state, at('12:01:00'), WATCH_MS).lapsed).toEqual([{ intent: 'b', pool: 'fs' }]);
});

test('the next look is when something may be due, a second away at least', () => {
  const state = called({ a: 'allowed', b: 'started' }).state();
  expect(planWatch(state, at('12:00:00'), WATCH_MS).againInMs).toBe(WATCH_MS);
  expect(planWatch(state, at('12:00:50'), WATCH_MS).againInMs).toBe(10_000);
  expect(planWatch(state, at('12:00:59.900'), WATCH_MS).againInMs).toBe(1000);
  expect(planWatch(state, at('12:30:00'), WATCH_MS).againInMs).toBe(WATCH_MS);
});

test('people are waited for with patience', () => {
  expect(planWatch(called({ a: 'asked' }).state(), at('12:00:01'), WATCH_MS).againInMs).toBe(4 * WATCH_MS);
});

test('ended calls are observed, unless they wait for the call in their place', () => {
  const log = called({ a: 'completed', b: 'asked' });
  const names = (): string[] =>
    planWatch(log.state(), at('12:00:01'), WATCH_MS).unobserved.map((call) => call.intent);
  expect(names()).toEqual(['a']);
  log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by: 'c' }), {
    intent: 'b',
  });
  expect(names()).toEqual(['a', 'b']);
  const supersedes = { intent: 'b', answerId: 'x', person: 'ada' };
  log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), { intent: 'c' });
  expect(names()).toEqual(['a']);
  takeCall(log, 'c', 'observed');
  expect(names()).toEqual(['a', 'b']);
});

test('a call outside any run is watched too', () => {
  const log = asked();
  log.append('model.message', sample('model.message'));
  log.append('run.finished', sample('run.finished', { throughSeq: log.seq }));
  log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), { intent: 'undo' });
  takeCall(log, 'undo', 'started');
  expect(planWatch(log.state(), at('12:05:00'), WATCH_MS)).toMatchObject({
    lapsed: [{ intent: 'undo', pool: 'fs' }],
    againInMs: WATCH_MS,
  });
});
