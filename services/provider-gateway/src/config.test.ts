import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anthropicKey, loadGatewayConfig } from './config.ts';

describe('the address of the provider', () => {
  test.each([
    'http://example.com',
    'http://127.0.0.1.example.com',
    'https://user:secret@example.com',
    'ftp://example.com',
    'no address',
  ])('refuses %s', (url) => {
    expect(() => loadGatewayConfig({ INTERLOCK_ANTHROPIC_BASE_URL: url })).toThrow(
      'INTERLOCK_ANTHROPIC_BASE_URL',
    );
  });

  test.each([
    'https://example.com/anthropic',
    'http://127.0.0.1:8080',
    'http://localhost:1',
    'http://[::1]:1',
  ])('takes %s', (url) => {
    expect(loadGatewayConfig({ INTERLOCK_ANTHROPIC_BASE_URL: url }).anthropicBaseUrl).toBe(url);
  });
});

test('defaults', () => {
  expect(loadGatewayConfig({})).toMatchObject({
    modelMaxAttempts: 5,
    modelMaxWaitMs: 60_000,
    modelIdleMs: 300_000,
  });
});

test('the key comes by value, from a file, or from the variable of the provider, in this order', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gateway-config-'));
  try {
    const file = join(dir, 'key');
    await writeFile(file, 'from-file\n');
    const env = { ANTHROPIC_API_KEY: ' from-variable ' };
    const fromFile = { ...env, INTERLOCK_ANTHROPIC_API_KEY_FILE: file };
    const byValue = { ...fromFile, INTERLOCK_ANTHROPIC_API_KEY: 'by-value' };
    const keyOf = (given: Record<string, string>) => anthropicKey(loadGatewayConfig(given), given);
    expect(await keyOf({})).toBeNull();
    expect(await keyOf(env)).toBe('from-variable');
    expect(await keyOf(fromFile)).toBe('from-file');
    expect(await keyOf(byValue)).toBe('by-value');
  } finally {
    await rm(dir, { recursive: true });
  }
});
