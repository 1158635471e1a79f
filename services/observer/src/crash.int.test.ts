import { spawn } from 'node:child_process';
import { DURABLES } from '@interlock/contracts';
import { toolCall } from '@interlock/contracts/testing';
import { expect, test } from 'vitest';
import { Cast } from '../test/cast.ts';
import { startHouse } from '../test/house.ts';

/** Killed for real, at each place where a crash could do harm; another one takes over. */
test.each([
  'after-append:run.started',
  'after-append:model.requested',
  'before-ack:model.message',
  'after-append:tool.observation',
  'before-ack:tool.execution.completed',
  'before-append:model.requested:2',
  'after-append:run.finished',
])(
  'killed at %s: nothing is done twice, nothing is left',
  async (failpoint) => {
    const own = await startHouse();
    try {
      const main = new URL('./main.ts', import.meta.url).pathname;
      const doomed = spawn(process.execPath, ['--no-warnings', main], {
        env: {
          ...process.env,
          INTERLOCK_NATS_URL: own.nats.url,
          INTERLOCK_KEYS_DIR: own.keysDir,
          INTERLOCK_LOG_LEVEL: 'silent',
          INTERLOCK_FAILPOINT: failpoint,
          INTERLOCK_WATCH_MS: '300',
        },
        stdio: 'ignore',
      });
      const dead = new Promise((resolve) => doomed.once('exit', (_, signal) => resolve(signal)));
      const cast = new Cast(own);
      await cast.open();
      await cast.ask();
      const play = (async () => {
        await cast.answer([toolCall('a')]);
        await cast.take('a', 'proposed');
        await cast.run('a');
        await cast.request(2);
        await cast.answer([{ type: 'text', text: 'Done.' }]);
      })();
      expect(await dead).toBe('SIGKILL');
      // What the dead one held comes back once its time to acknowledge has passed; a rewind does not wait for that.
      await own.rewind(DURABLES.observer);
      await own.observer();
      await play;
      await cast.when(({ status }) => status === 'completed');
      expect((await cast.all('model.requested')).map(({ envelope }) => envelope.turn)).toEqual([1, 2]);
      expect(await cast.all('tool.observation')).toHaveLength(1);
      expect(await cast.all('run.finished')).toHaveLength(1);
      await cast.verify();
    } finally {
      await own.stop();
    }
  },
  60_000,
);
