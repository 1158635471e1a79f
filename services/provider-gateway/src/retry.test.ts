import { describe, expect, test } from 'vitest';
import { FAILURES, type Failure, isRetryable } from './provider.ts';
import { afterFailure } from './retry.ts';

const POLICY = { maxAttempts: 5, backoffMs: 500, maxWaitMs: 60_000 };
const failure = (more: Partial<Failure> = {}): Failure => ({
  type: 'failure',
  category: 'overloaded',
  message: '',
  retryable: true,
  partial: '',
  usage: null,
  costUsd: null,
  ...more,
});

describe('the request fails', () => {
  test('when the failure is final', () => {
    expect(afterFailure(failure({ retryable: false }), 1, POLICY, 0)).toEqual({ kind: 'fail' });
  });
  test('after the last attempt', () => {
    expect(afterFailure(failure(), 5, POLICY, 0)).toEqual({ kind: 'fail' });
  });
  test('when the provider asks for more than a minute', () => {
    expect(afterFailure(failure({ retryAfterMs: 60_001 }), 1, POLICY, 0)).toEqual({ kind: 'fail' });
  });
});

describe('another attempt follows', () => {
  test('when the provider said', () => {
    expect(afterFailure(failure({ retryAfterMs: 60_000 }), 1, POLICY, 0)).toEqual({
      kind: 'retry',
      waitMs: 60_000,
    });
  });
  test.each([undefined, 0])('after a wait of its own where the provider says %s', (retryAfterMs) => {
    const said = failure(retryAfterMs === undefined ? {} : { retryAfterMs });
    expect(afterFailure(said, 1, POLICY, 1)).toEqual({ kind: 'retry', waitMs: 500 });
  });
  test('after a wait that doubles, between its half and its whole, and has a limit', () => {
    const wait = (attempt: number, random: number): unknown =>
      afterFailure(failure(), attempt, { ...POLICY, maxAttempts: 99 }, random);
    expect(wait(4, 0)).toEqual({ kind: 'retry', waitMs: 2000 });
    expect(wait(4, 1)).toEqual({ kind: 'retry', waitMs: 4000 });
    expect(wait(30, 1)).toEqual({ kind: 'retry', waitMs: 60_000 });
  });
});

test('what may be tried again', () => {
  expect(FAILURES.filter(isRetryable)).toEqual([
    'rate_limit',
    'overloaded',
    'transport',
    'stream_timeout',
    'stream_truncated',
    'internal',
  ]);
});
