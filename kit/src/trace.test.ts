import { expect, test } from 'vitest';
import { childTraceparent, newTraceparent } from './trace.ts';

test('a child is another span of the same trace', () => {
  const parent = newTraceparent();
  expect(parent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  const child = childTraceparent(parent);
  expect(child.slice(0, 36)).toBe(parent.slice(0, 36));
  expect(child).not.toBe(parent);
  for (const odd of [undefined, '', 'not one', `${parent}x`]) expect(childTraceparent(odd)).toMatch(/^00-/);
});
