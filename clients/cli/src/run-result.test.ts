import { type ConversationState, initialState, type LogEntry } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { EXIT } from './exit-codes.ts';
import { ResultOf } from './run-result.ts';

/** As much of an event as the result looks at. */
const event = (seq: number, type: string, data: unknown = {}): LogEntry =>
  ({ seq, type, data }) as unknown as LogEntry;
const usage = { inputUncached: 1, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: null };
const finished = (seq: number, reason: string): LogEntry =>
  event(seq, 'run.finished', { reason, turns: 1, usage, costUsd: null, throughSeq: 0 });
const observed = (seq: number, ending: string, code?: string): LogEntry =>
  event(seq, 'tool.observation', { ending, code });

const idle = initialState('local', 's');

function exitOf(entries: readonly LogEntry[], state: ConversationState = idle, messageSeq = 2): number {
  const summary = new ResultOf(messageSeq);
  for (const entry of entries) summary.take(entry);
  return summary.exitCode(summary.result(state));
}

describe('the exit code', () => {
  test('3 when a rule denied the last call, though the run is completed', () => {
    expect(exitOf([observed(4, 'denied', 'rule_denied'), finished(5, 'completed')])).toBe(EXIT.denied);
  });

  test('0 when a call after the denied one got through, or a person rejected it', () => {
    const denied = observed(4, 'denied', 'rule_denied');
    expect(exitOf([denied, observed(5, 'success'), finished(6, 'completed')])).toBe(EXIT.done);
    expect(exitOf([observed(4, 'denied', 'rejected_by_person'), finished(5, 'completed')])).toBe(EXIT.done);
  });

  test('7 when what a call did is unknown', () => {
    expect(exitOf([observed(4, 'indeterminate'), observed(5, 'success'), finished(6, 'completed')])).toBe(
      EXIT.indeterminate,
    );
  });

  test('what an earlier run of the session came to does not count', () => {
    const earlier = [event(1, 'run.started'), observed(2, 'indeterminate'), finished(3, 'max_turns')];
    const own = [event(8, 'run.started'), finished(9, 'completed')];
    expect(exitOf([...earlier, ...own], idle, 8)).toBe(EXIT.done);
  });

  test.each([
    ['max_turns', EXIT.limit],
    ['budget', EXIT.limit],
    ['length', EXIT.limit],
    ['context_window', EXIT.limit],
    ['cancelled', EXIT.interrupted],
    ['refused', EXIT.error],
    ['model_failed', EXIT.error],
  ])('%s is %i', (reason, code) => {
    expect(exitOf([finished(5, reason)])).toBe(code);
  });

  test('4 when the provider refused the key', () => {
    const state = { ...idle, lastError: { seq: 4, code: 'auth', message: 'no' } };
    expect(exitOf([finished(5, 'model_failed')], state)).toBe(EXIT.authentication);
  });

  test('5 while a person is waited for', () => {
    expect(exitOf([], { ...idle, status: 'waiting_for_approval' })).toBe(EXIT.waiting);
  });
});
