import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NatsHandle, startNats } from './nats.ts';

async function using<Result>(
  urls: string[],
  act: (connection: NatsConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await connect({ servers: urls, maxReconnectAttempts: -1, timeout: 10_000 });
  try {
    return await act(connection);
  } finally {
    await connection.close();
  }
}

const addStream = (urls: string[], replicas: number): Promise<unknown> =>
  using(urls, async (connection) => {
    const manager = await jetstreamManager(connection, { timeout: 10_000 });
    return manager.streams.add({ name: 'A', subjects: ['a.>'], num_replicas: replicas });
  });

const publish = (urls: string[], text: string): Promise<unknown> =>
  using(urls, (connection) => jetstream(connection, { timeout: 10_000 }).publish('a.b', text));

const stored = (urls: string[]): Promise<number> =>
  using(urls, async (connection) => {
    const manager = await jetstreamManager(connection, { timeout: 10_000 });
    return (await manager.streams.info('A')).state.messages;
  });

describe('one server', () => {
  let nats: NatsHandle;
  beforeAll(async () => {
    nats = await startNats();
    await addStream(nats.urls, 1);
  });
  afterAll(() => nats.stop());

  test('keeps its messages and its address over a kill and a restart', async () => {
    await publish(nats.urls, 'one');
    const [before] = nats.pids;
    await nats.kill();
    expect(nats.pids).toEqual([]);
    await nats.restart();
    expect(nats.pids).not.toEqual([before]);
    await publish(nats.urls, 'two');
    expect(await stored(nats.urls)).toBe(2);
  });

  test('says nothing while it is paused and goes on when it is resumed', async () => {
    await using(nats.urls, async (connection) => {
      await nats.pause();
      const answer = connection.request('$JS.API.INFO', '', { timeout: 300 });
      await expect(answer).rejects.toThrow();
      await nats.resume();
      await connection.request('$JS.API.INFO', '', { timeout: 5_000 });
    });
  });

  test('leaves nothing behind when it is stopped', async () => {
    const other = await startNats();
    const pids = [...other.pids];
    await other.stop();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('refuses a configuration that is wrong, with what the server says of it', async () => {
    await expect(startNats({ config: 'no_such_setting: 1' })).rejects.toThrow('no_such_setting');
  });
});

describe('a cluster of three', () => {
  let nats: NatsHandle;
  beforeAll(async () => {
    nats = await startNats({ nodes: 3 });
    await addStream(nats.urls, 3);
  });
  afterAll(() => nats.stop());

  test('goes on without one of its nodes and takes it back', async () => {
    await publish(nats.urls, 'one');
    await nats.kill(1);
    expect(nats.pids).toHaveLength(2);
    // A new leader may have to be elected first.
    await expect.poll(() => publish(nats.urls, 'two').then(() => true), { timeout: 20_000 }).toBe(true);
    await nats.restart(1);
    expect(nats.pids).toHaveLength(3);
    expect(await stored(nats.urls)).toBeGreaterThanOrEqual(2);
  });
});
