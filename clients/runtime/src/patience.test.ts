import { RetryableError } from '@interlock/kit';
import { describe, expect, test } from 'vitest';
import { patiently } from './patience.ts';

const away = new RetryableError('query_timeout', 'nobody answers');

describe('patience', () => {
  test('ends with what is no passing trouble, at once', async () => {
    let tries = 0;
    const act = () => {
      tries += 1;
      return Promise.reject(new TypeError('a bug'));
    };
    await expect(patiently(act, { limitMs: 10_000 })).rejects.toThrow('a bug');
    expect(tries).toBe(1);
  });

  test('ends with the last failure when its time is up, or when it is aborted', async () => {
    await expect(patiently(() => Promise.reject(away), { limitMs: 0 })).rejects.toBe(away);
    const stop = new AbortController();
    const waiting = patiently(() => Promise.reject(away), { limitMs: 60_000, signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toBe(away);
  });

  test('tries again until it works', async () => {
    let tries = 0;
    const act = () => {
      tries += 1;
      return tries < 3 ? Promise.reject(away) : Promise.resolve('here');
    };
    expect(await patiently(act, { limitMs: 10_000 })).toBe('here');
  });
});
