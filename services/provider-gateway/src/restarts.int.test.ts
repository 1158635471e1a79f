import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ModelPart } from '@interlock/contracts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Session, startHouse, type TestHouse, typesFrom, until } from '../test/house.ts';

const SCRIPTED = { provider: 'scripted', model: 'script-1' };
const call = (path: string): object => ({ tool: 'read_file', input: { path } });

/** A message that a dead worker held is delivered again after this long. */
const ACK_WAIT_MS = 1000;

let house: TestHouse;
beforeEach(async () => {
  house = await startHouse(ACK_WAIT_MS);
});
afterEach(() => house.stop());

const scripted = (...turns: unknown[]): Promise<Session> => house.session(SCRIPTED, { turns });

describe('once a request has its message no further call is made for it', () => {
  test('when everything is delivered once more', async () => {
    await house.gateway();
    const session = await scripted({ parts: [call('a')] }, { parts: [{ text: 'never' }] });
    await session.ask();
    await session.until('tool.intent');
    const before = await session.events();
    await house.deliverAgain();
    // A session that comes after it in the stream is answered after it.
    const later = await scripted({ parts: [{ text: 'hello' }] });
    await later.ask();
    await later.until('model.message');
    await settled();
    expect(await session.events()).toEqual(before);
  });

  test('the intents that a crash left out are derived from it', async () => {
    const session = await scripted({ parts: [{ text: 'never' }] });
    const requested = await session.ask();
    const part = (intent: string): ModelPart => ({
      type: 'tool_call',
      intent,
      tool: 'read_file',
      rawInput: {},
      inputFormat: 'json',
      providerRef: intent,
    });
    await session.append('model.attempt.started', { attempt: 1, worker: 'gone', ...SCRIPTED });
    await session.append('model.message', {
      attempt: 1,
      ...SCRIPTED,
      contextSnapshotId: requested.data.contextSnapshotId,
      parts: [part(`${session.id}-a`), part(`${session.id}-b`), part(`${session.id}-c`)],
      stop: 'tool_calls',
      nativeStop: null,
      usage: null,
      costUsd: null,
      latencyMs: 1,
      requestId: null,
    });
    const data = { tool: 'read_file', rawInput: {}, inputFormat: 'json', proposer: 'model' } as const;
    await session.append('tool.intent', data, `${session.id}-b`);
    await session.append('tool.cancelled', { reason: 'run_cancelled' }, `${session.id}-c`);
    await house.gateway();
    const intents = await session.until('tool.intent', 2);
    await settled();
    expect(intents.map(({ envelope }) => envelope.intent)).toEqual([`${session.id}-b`, `${session.id}-a`]);
    expect(await session.of('model.attempt.started')).toHaveLength(1);
    expect(await session.of('tool.intent')).toHaveLength(2);
  });
});

/** Every delivery of the durable has been acknowledged. */
async function settled(): Promise<void> {
  const manager = await house.bus.js.jetstreamManager();
  await until(async () => {
    const info = await manager.consumers.info('EV', 'provider-gateway');
    // The request of an unknown projection stays for another replica.
    return info.num_pending === 0 && info.num_ack_pending <= 1;
  });
}

test('a log that is away while the answer comes: the answer is held, recorded once, and no second call is made', async () => {
  await house.gateway();
  const session = await scripted({ parts: [{ text: 'held' }, call('a')], delayMs: 200 }, { parts: [] });
  await session.ask();
  await session.until('model.attempt.started');
  await house.nats.kill();
  await until(() => !house.bus.connected());
  // The answer is there by now; its append finds nobody.
  await new Promise((resolve) => setTimeout(resolve, 400));
  await house.nats.restart();
  await until(() => house.bus.connected());
  await session.until('tool.intent');
  await settled();
  expect(typesFrom(await session.events(), 'model.requested')).toEqual([
    'model.requested',
    'model.attempt.started',
    'model.message',
    'tool.intent',
  ]);
});

describe('a gateway that is gone', () => {
  test('killed after the message: the next one derives its intents and makes no call', async () => {
    const session = await scripted({ parts: [call('a'), call('b')] }, { parts: [{ text: 'never' }] });
    await session.ask();
    expect(await runToDeath('after-append:model.message')).toBe('SIGKILL');
    expect(typesFrom(await session.events(), 'model.attempt.started')).toEqual([
      'model.attempt.started',
      'model.message',
    ]);
    await house.gateway();
    await session.until('tool.intent', 2);
    expect(await session.of('model.attempt.started')).toHaveLength(1);
  });

  test('killed after the claim: the attempt is on record, and the next one has the next number', async () => {
    const session = await scripted({ parts: [{ text: 'once' }] }, { parts: [{ text: 'spare' }] });
    await session.ask();
    expect(await runToDeath('after-append:model.attempt.started')).toBe('SIGKILL');
    await house.gateway();
    const [message] = await session.until('model.message');
    expect(message?.data).toMatchObject({ attempt: 2, parts: [{ text: 'once' }], scriptUnused: [1] });
  });

  test('stopped in the middle: the request is another replica’s, and no failure is recorded', async () => {
    const session = await scripted({ parts: [{ text: 'slow' }], delayMs: 300 });
    const first = await house.gateway();
    await session.ask();
    await session.until('model.attempt.started');
    await first.stop();
    await house.gateway();
    const [message] = await session.until('model.message');
    expect(message?.data).toMatchObject({ attempt: 2, parts: [{ text: 'slow' }], scriptUnused: [] });
    expect(await session.of('model.failed')).toEqual([]);
  });

  test('the script goes on where it was', async () => {
    const session = await scripted({ parts: [{ text: 'one' }], stop: 'pause' }, { parts: [{ text: 'two' }] });
    const first = await house.gateway();
    await session.ask();
    await session.until('model.message');
    await first.stop();
    await house.gateway();
    await session.ask({ because: 'pause' });
    const messages = await session.until('model.message', 2);
    expect(messages[1]?.data).toMatchObject({ parts: [{ text: 'two' }], scriptUnused: [] });
  });
});

/** Runs the service as a process of its own until it dies at a place; the signal that ended it. */
async function runToDeath(failpoint: string): Promise<NodeJS.Signals | null> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      INTERLOCK_NATS_URL: house.nats.url,
      INTERLOCK_KEYS_DIR: house.keysDir,
      INTERLOCK_FAILPOINT: failpoint,
    },
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}
