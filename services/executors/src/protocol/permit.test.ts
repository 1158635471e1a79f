import type { Invocation } from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';
import { describe, expect, test } from 'vitest';
import { checkPermit, type PermitFacts } from './permit.ts';

const input = { path: 'a.txt' };
const invocation: Invocation = {
  intent: 'i1',
  tool: 'read_file',
  toolDigest: 'd'.repeat(64),
  pool: 'fs',
  input,
  inputSha256: hashOf(input),
  workspace: '/w',
  sandbox: { levels: ['A', 'B'], writable: false, network: false },
  budgets: { timeoutMs: 1000, outputBytes: 1000 },
  baselines: [],
  resumePolicy: 'rerun-safe',
  expiresAt: '2026-11-30T12:00:00.000Z',
};
const before = Date.parse('2026-11-30T11:59:59.999Z');

function given(more: Partial<PermitFacts> = {}, changed: Partial<Invocation> = {}): PermitFacts {
  return {
    invocation: { ...invocation, ...changed },
    authentic: true,
    intent: 'i1',
    pool: 'fs',
    nowMs: before,
    toolDigest: 'd'.repeat(64),
    sandboxLevel: 'A',
    ...more,
  };
}
const codeOf = (facts: PermitFacts): string => {
  const check = checkPermit(facts);
  return check.ok ? 'ok' : check.code;
};

describe('a permit is refused', () => {
  test('without the policy engine’s signature, before anything else is looked at', () => {
    expect(codeOf(given({ authentic: false, nowMs: before + 1e9, toolDigest: null }))).toBe('bad_signature');
  });

  test('on the lane of another intent, or of another pool', () => {
    expect(codeOf(given({ intent: 'i2' }))).toBe('bad_signature');
    expect(codeOf(given({ pool: 'shell' }))).toBe('bad_signature');
  });

  test('when its input is not the one that was decided', () => {
    expect(codeOf(given({}, { input: { path: 'b.txt' } }))).toBe('bad_signature');
    expect(codeOf(given({}, { input: '\ud800' }))).toBe('bad_signature');
  });

  test('from the moment it expires', () => {
    expect(codeOf(given({ nowMs: before + 1 }))).toBe('invocation_expired');
  });

  test('for a tool that the pool has not, or has in another version', () => {
    expect(codeOf(given({ toolDigest: null }))).toBe('exception');
    expect(codeOf(given({ toolDigest: 'e'.repeat(64) }))).toBe('exception');
  });

  test('when it demands another sandbox', () => {
    expect(codeOf(given({ sandboxLevel: 'D' }))).toBe('sandbox_unavailable');
  });
});

test('a permit of the policy engine, in time, for this pool, is good', () => {
  expect(codeOf(given())).toBe('ok');
  expect(codeOf(given({ sandboxLevel: 'B' }))).toBe('ok');
});
