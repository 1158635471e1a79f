import { ulidSchema } from '@interlock/contracts';
import { expect, test } from 'vitest';
import { systemClock, systemIds } from './clock.ts';

test('ulids grow and are what the contracts take', () => {
  const ids = Array.from({ length: 1000 }, () => systemIds.ulid());
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) expect(ulidSchema.safeParse(id).success).toBe(true);
});

test('nonces are 16 bytes', () => {
  expect(systemIds.nonce()).toMatch(/^[A-Za-z0-9_-]{22}$/);
  expect(systemIds.nonce()).not.toBe(systemIds.nonce());
  expect(Math.abs(systemClock.now().getTime() - Date.now())).toBeLessThan(1000);
});
