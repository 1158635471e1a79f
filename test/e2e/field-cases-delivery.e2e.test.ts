/**
 * Faults that others met in the field, told in our own words: redelivery, prefetching, lost servers and consumers, slow
 * readers. Their numbers (FC-…) are those of the collection they were taken from, which is not needed here.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DURABLES, executorDurable, STREAMS } from '@interlock/contracts';
import { startExecutor } from '@interlock/executors';
import { type Bus, createLogger, type HousedService, readMessages, startInProcess } from '@interlock/kit';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, dataOf, type Played, play, type ScriptPart } from '../harness/session.ts';
import { consumerOf, isIdle } from './consumers.ts';
import { bash, onlyIntentOf, turn, whenTold } from './lanes.ts';

const SHELL = 'executor-shell';
const ANALYTICS = 'analytics';
const EXECUTOR_SETTINGS = { INTERLOCK_EXECUTOR_CONCURRENCY: '2' };

let house: TestHouse;
let client: RuntimeContext;
/** May look at consumers. */
let operator: Bus;
/** May do anything to streams and consumers, as the event-store does. */
let provisioner: Bus;
beforeAll(async () => {
  house = await startTestHouse({
    mode: 'processes',
    serviceEnv: {
      'event-store': { INTERLOCK_RECONCILE_MS: '500', INTERLOCK_ANALYTICS: '1' },
      [SHELL]: EXECUTOR_SETTINGS,
    },
  });
  client = await house.client();
  [operator, provisioner] = await Promise.all([house.as('operator'), house.as('event-store')]);
});
afterAll(() => house?.stop());

/** A second executor of the shell pool, in this process. */
async function startAnother(): Promise<HousedService> {
  return await startInProcess(SHELL, startExecutor, {
    url: house.url,
    keysDir: house.keysDir,
    nkeySeed: await house.seed(SHELL),
    logger: createLogger({ service: 'test', instance: 'second', level: 'silent' }),
    env: {
      ...{ PATH: process.env.PATH, INTERLOCK_BWRAP_BIN: process.env.INTERLOCK_BWRAP_BIN },
      ...{ INTERLOCK_POOL: 'shell', INTERLOCK_KEYS_DIR: house.keysDir, ...EXECUTOR_SETTINGS },
    },
  });
}

const say = (text: string): ScriptPart => ({ text });
const linesOf = async (path: string): Promise<number> =>
  (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1;

function assertRanOnce(played: Played): void {
  assertSound(played);
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(dataOf(played, 'tool.execution.started')).toHaveLength(1);
  expect(dataOf(played, 'tool.execution.completed')).toMatchObject([{ outcome: 'success' }]);
}

describe('FC-139: a reader that fetches ahead holds what another could do', () => {
  test('two executors share ten commands, and each command is delivered once', async () => {
    const second = await startAnother();
    await expect.poll(() => second.ready(), { timeout: 30_000 }).toBe(true);
    const before = await consumerOf(operator, SHELL);
    const path = await house.workspace();
    const played = await Promise.all(
      Array.from({ length: 10 }, () =>
        play(client, {
          workspace: path,
          turns: [turn(bash('date >> m.txt; sleep 1; echo done')), whenTold('done', say('Done.'))],
        }),
      ),
    );
    for (const one of played) assertRanOnce(one);
    expect(await linesOf(join(path, 'm.txt'))).toBe(10);
    const workers = new Set(
      played.flatMap((one) => dataOf(one, 'tool.execution.started').map(({ worker }) => worker)),
    );
    expect(workers.size).toBe(2);
    const after = await consumerOf(operator, SHELL);
    expect(after.delivered.consumer_seq - before.delivered.consumer_seq).toBe(10);
    await second.stop();
  });
});

describe('FC-138: work that takes longer than its delivery may', () => {
  test('the delivery comes again and again, its holder is stopped for a while: the command runs once', async () => {
    // The least that such a house would ever have, and less than the interval of its signs of life.
    const manager = await jetstreamManager(provisioner.nc);
    const { name } = executorDurable('shell');
    await manager.consumers.update(STREAMS.events, name, { ack_wait: nanos(2000) });
    const path = await house.workspace();
    let second: HousedService | undefined;
    const played = await play(client, {
      workspace: path,
      turns: [turn(bash('echo x >> n.txt; sleep 8; echo done')), whenTold('done', say('Done.'))],
      onEvent: async ({ type }) => {
        if (type !== 'tool.execution.started' || second) return;
        // Only now, so that the holder is the one that can be stopped.
        second = await startAnother();
        await house.house.kill(SHELL, 'SIGSTOP');
        await expect
          .poll(async () => (await consumerOf(operator, SHELL)).num_redelivered, { timeout: 30_000 })
          .toBeGreaterThan(0);
        await house.house.kill(SHELL, 'SIGCONT');
      },
    });
    assertRanOnce(played);
    expect(await linesOf(join(path, 'n.txt'))).toBe(1);
    expect(finalText(played.state)).toBe('Done.');
    await second?.stop();
    await manager.consumers.update(STREAMS.events, name, { ack_wait: nanos(30_000) });
    await expect.poll(async () => isIdle(await consumerOf(operator, SHELL)), { timeout: 30_000 }).toBe(true);
  });
});

describe('FC-143: after a restart there are signs of life but no messages', () => {
  test('a running command, an open ask and a new message all come to their end after the server was killed', async () => {
    const [here, there] = [await house.workspace(), await house.workspace()];
    let away: Promise<void> | undefined;
    // Fifteen seconds in the field; three here, which is as long for every reconnect of this house.
    const killServer = async (): Promise<void> => {
      await house.nats.kill();
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await house.nats.restart();
    };
    const [running, waiting] = await Promise.all([
      play(client, {
        workspace: here,
        turns: [turn(bash('echo x >> n.txt; sleep 5; echo done')), whenTold('done', say('Done.'))],
        onEvent: async ({ type }) => {
          if (type === 'tool.execution.started') away ??= killServer();
          await away;
        },
      }),
      play(client, {
        workspace: there,
        mode: 'normal',
        turns: [turn({ tool: 'write_file', input: { path: 'x.txt', content: 'x' } }), turn(say('Written.'))],
        onAsk: async () => {
          await expect.poll(() => away !== undefined, { timeout: 30_000 }).toBe(true);
          await away;
          return { verdict: 'approve' };
        },
      }),
    ]);
    assertRanOnce(running);
    expect(await linesOf(join(here, 'n.txt'))).toBe(1);
    assertRanOnce(waiting);
    assertSound(await play(client, { workspace: here, turns: [turn(say('Hello.'))] }));
  });

  test.each(['validator', 'observer', 'policy-engine', SHELL])(
    'the durable of %s is deleted while it is connected: it is bound again, and the run goes on',
    async (durable) => {
      const manager = await jetstreamManager(provisioner.nc);
      const path = await house.workspace();
      const { created } = await consumerOf(operator, durable);
      await manager.consumers.delete(STREAMS.events, durable);
      const played = await play(client, {
        workspace: path,
        turns: [turn(bash('echo x >> n.txt; echo done')), whenTold('done', say('Done.'))],
      });
      assertRanOnce(played);
      expect(await linesOf(join(path, 'n.txt'))).toBe(1);
      expect(onlyIntentOf(played).ending).toBe('success');
      expect((await consumerOf(operator, durable)).created).not.toBe(created);
    },
  );
});

describe('FC-147: a subscriber that does not keep up', () => {
  const IN_HAND = 16;

  /** Sessions side by side; how long each took, in milliseconds, shortest first. */
  async function playMany(count: number): Promise<readonly number[]> {
    const path = await house.workspace({ 'notes.txt': 'buy milk\n' });
    const read: ScriptPart = { tool: 'read_file', input: { path: 'notes.txt' } };
    const times = await Promise.all(
      Array.from({ length: count }, async () => {
        const begun = performance.now();
        const turns = [turn(read, read, read), whenTold('milk', read, read), whenTold('milk', say('Milk.'))];
        assertSound(await play(client, { workspace: path, turns }));
        return performance.now() - begun;
      }),
    );
    return times.toSorted((a, b) => a - b);
  }

  test('the pipeline does not wait for it, its lag is seen, and it catches up without loss', async ({
    annotate,
  }) => {
    const alone = await playMany(20);
    const bus = await house.as(ANALYTICS);
    const consumer = await jetstream(bus.nc).consumers.get(STREAMS.events, ANALYTICS);
    const seen: number[] = [];
    let isSlow = true;
    let release = (): void => undefined;
    const brake = new Promise<void>((resolve) => {
      release = resolve;
    });
    const messages = await consumer.consume({ max_messages: IN_HAND });
    const reading = (async () => {
      for await (const message of messages) {
        seen.push(message.seq);
        if (isSlow) await brake;
        message.ack();
      }
    })();

    const beside = await playMany(20);
    const behind = await consumerOf(operator, ANALYTICS);
    // What it has not taken waits at the server and not in anybody's memory.
    expect(behind.num_ack_pending).toBeLessThanOrEqual(IN_HAND);
    expect(behind.num_pending).toBeGreaterThan(500);
    expect(seen).toHaveLength(1);

    isSlow = false;
    release();
    await expect
      .poll(async () => isIdle(await consumerOf(operator, ANALYTICS)), { timeout: 60_000 })
      .toBe(true);
    await messages.close();
    await reading;
    const stored = await readMessages(provisioner, { filter: 'ev.v1.>', fromSeq: 1 });
    expect(new Set(seen)).toEqual(new Set(stored.map(({ seq }) => seq)));

    const [p95Alone = 0, p95Beside = 0] = [alone, beside].map(
      (times) => times[Math.floor(times.length * 0.95)],
    );
    await annotate(
      `p95 of 20 sessions: ${p95Alone.toFixed(0)} ms alone, ${p95Beside.toFixed(0)} ms beside it`,
    );
  });
});

test('the durables that were deleted are as they were', async () => {
  for (const { name } of [
    DURABLES.validator,
    DURABLES.observer,
    DURABLES['policy-engine'],
    executorDurable('shell'),
  ])
    await expect.poll(async () => isIdle(await consumerOf(operator, name)), { timeout: 60_000 }).toBe(true);
});
