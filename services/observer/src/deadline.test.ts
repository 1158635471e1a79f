import { sample } from '@interlock/contracts/testing';
import { expect, test } from 'vitest';
import { called, opened, started } from '../test/given.ts';
import { activeTimeLeft } from './deadline.ts';

test('no run, or no limit: no deadline', () => {
  expect(activeTimeLeft(opened({ maxWallMs: 1000 }).state(), 0)).toBeNull();
  expect(activeTimeLeft(started().state(), 0)).toBeNull();
});

test('time runs from the start of the run', () => {
  const state = started({ maxWallMs: 1000 }).state();
  const from = Date.parse(state.run?.startedAt ?? '');
  expect(activeTimeLeft(state, from + 400)).toBe(600);
  expect(activeTimeLeft(state, from + 1400)).toBe(-400);
});

test('and stands still while people are waited for', () => {
  const log = called({ a: 'asked' }, { maxWallMs: 10_000 });
  const waiting = log.state();
  const since = Date.parse(waiting.run?.waitingSince ?? '');
  const left = activeTimeLeft(waiting, since) ?? 0;
  expect(activeTimeLeft(waiting, since + 3_600_000)).toBe(left);
  log.append('tool.approval.denied', sample('tool.approval.denied'), { intent: 'a', afterMs: 3_600_000 });
  const now = since + 3_600_000;
  expect(activeTimeLeft(log.state(), now)).toBe(left);
  expect(activeTimeLeft(log.state(), now + 5000)).toBe(left - 5000);
});
