import { ConfigError } from '@interlock/kit';
import { describe, expect, test } from 'vitest';
import { loadPolicyConfig } from './config.ts';

const engines = (text: string) => loadPolicyConfig({ INTERLOCK_POLICY_ENGINES: text }).policyEngines;

describe('remote engines', () => {
  test.each([['native'], ['a b'], ['cedar:allow'], ['cedar,cedar'], ['*']])('%s is refused', (text) => {
    expect(() => engines(text)).toThrow(ConfigError);
  });
  test('none by default', () => {
    expect(loadPolicyConfig({}).policyEngines).toEqual([]);
  });
  test('with what silence means, and shadow', () => {
    expect(engines('cedar, opa:shadow,guard:deny')).toEqual([
      { name: 'cedar', shadow: false, onFailure: 'ask' },
      { name: 'opa', shadow: true, onFailure: 'ask' },
      { name: 'guard', shadow: false, onFailure: 'deny' },
    ]);
  });
});

test('defaults', () => {
  expect(loadPolicyConfig({})).toMatchObject({
    engineDeadlineMs: 2000,
    approvalExpiryMs: 86_400_000,
    invocationTtlMs: 600_000,
    preflightDeadlineMs: 15_000,
  });
});
