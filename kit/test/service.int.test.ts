import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { STREAMS } from '@interlock/contracts';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  appendInbox,
  type Bus,
  connectBus,
  ensureKeys,
  NatsUnreachableError,
  readRange,
  startHealth,
  startInProcess,
} from '../src/index.ts';
import { userMessage } from './drafts.ts';
import {
  filterOf,
  type House,
  newSession,
  provisionDurable,
  quiet,
  startHouse,
  until,
  writerOf,
} from './house.ts';

let house: House;
let bus: Bus;
let keysDir: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
  keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  await ensureKeys(keysDir, ['observer']);
  const durable = { name: 'echo', stream: STREAMS.events, filters: ['ev.v1.*.*.u.>'] };
  await provisionDurable(bus, durable, { ackWaitMs: 1000 });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await house.stop();
  await rm(keysDir, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly line: Promise<{ service: string; pid: number; health: string }>;
  readonly stderr: () => string;
}

function startEcho(env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'programs/echo-service.ts')], {
    env: {
      PATH: process.env.PATH,
      INTERLOCK_NATS_URL: house.nats.url,
      INTERLOCK_KEYS_DIR: keysDir,
      INTERLOCK_ANNOUNCE: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const line = new Promise<{ service: string; pid: number; health: string }>((resolve) => {
    lines.once('line', (text) => resolve(JSON.parse(text)));
  });
  return { child, line, stderr: () => stderr };
}

async function echoes(session: string): Promise<number> {
  const entries = await readRange(bus, { filter: filterOf(session), fromSeq: 1 });
  return entries.filter(({ type }) => type === 'job.ended').length;
}

const status = async (url: string): Promise<number> => (await fetch(url)).status;

describe('runMain', () => {
  // job.ended is an executor's: the observer's key signs it, and that is all this test needs.
  test('announces itself, serves, and ends in order on SIGTERM', async () => {
    const { child, line, stderr } = startEcho();
    const { service, pid, health } = await line;
    expect({ service, pid }).toEqual({ service: 'observer', pid: child.pid });
    expect(await status(`${health}/livez`)).toBe(200);
    await until(async () => (await status(`${health}/readyz`)) === 200);
    const session = newSession();
    await appendInbox(bus, writerOf('client'), { tenant: 'local', session }, userMessage('hello'));
    await until(async () => (await echoes(session)) === 1);
    const metrics = await (await fetch(`${health}/metrics`)).text();
    expect(metrics).toMatch(/interlock_appends_total{type="job.ended",service="observer"} 1/);
    expect(metrics).toContain('process_cpu_seconds_total');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const lines = stderr()
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'echo', session, service: 'observer' }));
  });

  test('says what is wrong with its settings', async () => {
    const { child, stderr } = startEcho({ INTERLOCK_KEYS_DIR: '', INTERLOCK_LOG_LEVEL: 'loud' });
    expect(await once(child, 'exit')).toEqual([2, null]);
    expect(stderr()).toMatch(/INTERLOCK_KEYS_DIR +not set +the folder/);
    expect(stderr()).toMatch(/INTERLOCK_LOG_LEVEL/);
  });

  test('ends with 1 when it cannot start', async () => {
    const { child, stderr } = startEcho({ ECHO_FAIL: '1' });
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(stderr()).toContain('told to fail');
  });

  test('dies at its failpoint, and another finishes the work', async () => {
    const session = newSession();
    const first = startEcho({ INTERLOCK_FAILPOINT: 'after-append:job.ended:1' });
    await until(async () => (await status(`${(await first.line).health}/readyz`)) === 200);
    await appendInbox(bus, writerOf('client'), { tenant: 'local', session }, userMessage('hello'));
    expect(await once(first.child, 'exit')).toEqual([null, 'SIGKILL']);
    expect(await echoes(session)).toBe(1);
    const second = startEcho();
    await second.line;
    // The delivery comes again; this service does not look whether it was done.
    await until(async () => (await echoes(session)) === 2);
    second.child.kill('SIGINT');
    expect(await once(second.child, 'exit')).toEqual([0, null]);
  });
});

describe('startInProcess', () => {
  test('starts, is ready, and stops once', async () => {
    let stopped = 0;
    const service = await startInProcess(
      'observer',
      async ({ writer, keys, instance, env, bus: own }) => {
        expect(writer).toMatchObject({ service: 'observer', instance });
        expect(keys.find(writer.signer?.keyid ?? '')).toMatchObject({ role: 'observer' });
        expect(env.A).toBe('b');
        expect(own.name).toBe(`observer/${instance}`);
        const stop = async (): Promise<void> => {
          stopped += 1;
        };
        return { ready: () => true, stop };
      },
      { url: house.nats.url, keysDir, logger: quiet, env: { A: 'b' } },
    );
    expect(await (await fetch(`${service.health}/readyz`)).json()).toEqual({
      ready: true,
      checks: { nats: true, service: true },
    });
    await Promise.all([service.stop(), service.stop()]);
    expect(stopped).toBe(1);
    await expect(fetch(`${service.health}/livez`)).rejects.toThrow();
    expect(await service.bus.closed()).toBeUndefined();
  });

  test('closes its connection when the service does not start', async () => {
    let own: Bus | undefined;
    const start = startInProcess(
      'observer',
      async (context) => {
        own = context.bus;
        throw new Error('no');
      },
      { url: house.nats.url, keysDir, logger: quiet, env: {} },
    );
    await expect(start).rejects.toThrow('no');
    expect(own?.connected()).toBe(false);
  });
});

describe('the bus', () => {
  test('gives up when there is no server', async () => {
    const started = performance.now();
    const connecting = connectBus({
      url: 'nats://127.0.0.1:1',
      name: 'test/1',
      logger: quiet,
      connectTimeoutMs: 600,
    });
    await expect(connecting).rejects.toMatchObject({ code: 'nats_unreachable' });
    await expect(connecting).rejects.toBeInstanceOf(NatsUnreachableError);
    expect(performance.now() - started).toBeLessThan(3000);
  });

  test('gets its replies under its own prefix', async () => {
    const own = await house.bus('validator');
    expect(own.inboxPrefix).toBe('_I.validator');
    const seen: string[] = [];
    bus.nc.subscribe('$JS.API.STREAM.INFO.EV', {
      callback: (_error, message) => void seen.push(message.reply ?? ''),
    });
    await bus.nc.flush();
    await own.request('$JS.API.STREAM.INFO.EV', '', { timeoutMs: 2000 });
    await until(() => seen.length > 0);
    expect(seen[0]).toMatch(/^_I\.validator\./);
  });

  test('drains twice without harm', async () => {
    const own = await house.bus('drained');
    await Promise.all([own.drain(), own.drain()]);
    await own.drain();
    expect(own.connected()).toBe(false);
    await expect(own.request('x', '', { timeoutMs: 100 })).rejects.toThrow();
  });
});

describe('health', () => {
  test('is not ready when a check says no, throws or hangs', async () => {
    let answer: () => Promise<boolean> | boolean = () => false;
    const health = await startHealth({ port: 0, checks: { it: () => answer() }, metrics: new Registry() });
    expect(await status(`${health.url}/readyz`)).toBe(503);
    answer = () => {
      throw new Error('no');
    };
    expect(await status(`${health.url}/readyz`)).toBe(503);
    answer = () => new Promise(() => undefined);
    expect(await status(`${health.url}/readyz`)).toBe(503);
    answer = async () => true;
    expect(await status(`${health.url}/readyz`)).toBe(200);
    expect(await status(`${health.url}/livez`)).toBe(200);
    expect(await status(`${health.url}/nothing`)).toBe(404);
    await health.close();
  });
});
