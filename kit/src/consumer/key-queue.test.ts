import { expect, test } from 'vitest';
import { KeyQueue } from './key-queue.ts';

test('serialises one key and lets others pass', async () => {
  const queue = new KeyQueue();
  const events: string[] = [];
  const open: (() => void)[] = [];
  const task = (name: string) => async (): Promise<void> => {
    events.push(`+${name}`);
    await new Promise<void>((resolve) => open.push(resolve));
    events.push(`-${name}`);
  };
  const all = [queue.run('k', task('1')), queue.run('k', task('2')), queue.run('other', task('3'))];
  expect(events).toEqual(['+1', '+3']);
  let idle = false;
  const waiting = queue.idle().then(() => {
    idle = true;
  });
  while (!idle && events.length < 6) {
    for (const release of open.splice(0)) release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all([...all, waiting]);
  expect(events.filter((event) => event !== '+3' && event !== '-3')).toEqual(['+1', '-1', '+2', '-2']);
});
