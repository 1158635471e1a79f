import { expect, test } from 'vitest';
import { Lru } from './lru.ts';

test('forgets what was used least recently', () => {
  const lru = new Lru<string, number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  expect(lru.get('a')).toBe(1);
  lru.set('c', 3);
  expect([lru.get('a'), lru.get('b'), lru.get('c')]).toEqual([1, undefined, 3]);
  lru.set('a', 4);
  lru.set('d', 5);
  expect([lru.get('a'), lru.get('c'), lru.size]).toEqual([4, undefined, 2]);
  lru.delete('a');
  expect(lru.get('a')).toBeUndefined();
});
