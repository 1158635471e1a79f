import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, loadConfig, variableOf } from './config.ts';

const schema = z.object({
  natsUrl: z.string().startsWith('nats://').describe('nats://host:port'),
  healthPort: z.coerce.number().int().min(0).max(65_535).default(0).describe('a port'),
  keysDir: z.string().describe('a folder'),
  level: z.enum(['info', 'debug']).optional(),
});

test('reads variables of the fields’ names', () => {
  const env = {
    INTERLOCK_NATS_URL: 'nats://x',
    INTERLOCK_KEYS_DIR: '/k',
    INTERLOCK_HEALTH_PORT: '',
    OTHER: '1',
  };
  expect(loadConfig(schema, { env })).toEqual({ natsUrl: 'nats://x', keysDir: '/k', healthPort: 0 });
  expect(loadConfig(z.object({ a: z.string() }), { env: { X_A: 'a' }, prefix: 'X_' })).toEqual({ a: 'a' });
});

test('says what is wrong in a table', () => {
  const env = { INTERLOCK_NATS_URL: 'http://x', INTERLOCK_HEALTH_PORT: '99999', INTERLOCK_LEVEL: 'loud' };
  let error: unknown;
  try {
    loadConfig(schema, { env });
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof ConfigError)) throw new Error('not refused');
  expect(error.code).toBe('config_invalid');
  expect(error.problems.map(({ variable }) => variable)).toEqual([
    'INTERLOCK_NATS_URL',
    'INTERLOCK_HEALTH_PORT',
    'INTERLOCK_KEYS_DIR',
    'INTERLOCK_LEVEL',
  ]);
  const [head, columns, ...rows] = error.message.split('\n');
  expect(head).toBe('settings are missing or wrong:');
  const at = columns?.indexOf('problem') ?? -1;
  expect(rows).toHaveLength(4);
  for (const row of rows) expect(row.slice(at - 2, at)).toBe('  ');
  expect(rows[2]).toMatch(/^ {2}INTERLOCK_KEYS_DIR +not set +a folder$/);
});

test('spells variables', () => {
  expect(variableOf('INTERLOCK_', 'nkeySeedFile')).toBe('INTERLOCK_NKEY_SEED_FILE');
  expect(variableOf('INTERLOCK_', 'sha256Limit')).toBe('INTERLOCK_SHA256_LIMIT');
});
