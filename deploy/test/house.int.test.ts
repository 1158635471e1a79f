import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rpcSubject } from '@interlock/contracts';
import {
  appendInbox,
  type Bus,
  callRpc,
  connectBus,
  createLogger,
  loadKeys,
  systemClock,
  systemIds,
} from '@interlock/kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  findHouse,
  type House,
  type HouseConnection,
  type HouseOptions,
  HouseRunningError,
  ServiceFailedError,
  startHouse,
  type UnitLine,
} from '../src/house.ts';

const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });
const ALL = [
  'event-store',
  'provider-gateway',
  'validator',
  'policy-engine',
  'observer',
  'executor-fs',
  'executor-shell',
] as const;

let stateDir: string;
let ends: (() => Promise<unknown>)[];
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'interlock-house-'));
  ends = [];
});
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
  await rm(stateDir, { recursive: true, force: true });
});

async function build(options: Partial<HouseOptions> = {}): Promise<House> {
  const house = await startHouse({ stateDir, mode: 'in-process', person: 'ada', ...options });
  ends.push(() => house.stop());
  return house;
}

async function connect({ url, nkeySeedFile }: HouseConnection): Promise<Bus> {
  const nkeySeed = nkeySeedFile && (await readFile(nkeySeedFile, 'utf8')).trim();
  const bus = await connectBus({ url, name: 'client/1', logger: quiet, nkeySeed });
  ends.push(() => bus.nc.close());
  return bus;
}

const ask = async (bus: Bus, session: string) =>
  callRpc(bus, {
    subject: rpcSubject.query('local', 'events'),
    rpc: 'query.events',
    request: { session },
    timeoutMs: 10_000,
  });

async function open(bus: Bus, keysDir: string, session: string): Promise<void> {
  const { signers } = await loadKeys(keysDir);
  const signer = signers.get('client-ada');
  const writer = { service: 'client', instance: '1', signer, clock: systemClock, ids: systemIds };
  const model = { provider: 'scripted', model: 'm' };
  const data = { workspace: '/w', mode: 'normal', model, person: 'ada' } as const;
  await appendInbox(bus, writer, { tenant: 'local', session }, { type: 'session.opened', data });
}

/** Whether a process of this id is there. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('in one process', () => {
  test('comes up ready, is found, answers, keeps what it stored over a restart, and is gone afterwards', async () => {
    const lines: UnitLine[] = [];
    const house = await build({ onLine: (line) => lines.push(line) });
    expect(lines.map(({ service }) => service).toSorted()).toEqual([...ALL].toSorted());
    expect(lines[0]?.service).toBe('event-store');
    expect(await house.health()).toEqual(Object.fromEntries(ALL.map((name) => [name, true])));
    for (const { health } of lines) expect((await fetch(`${health}/livez`)).status).toBe(200);

    const found = await findHouse(stateDir);
    expect(found).toMatchObject(house.connection);
    expect(found?.pids.observer).toBe(process.pid);
    const bus = await connect(house.connection);
    await open(bus, house.connection.keysDir, 's1');
    expect(await ask(bus, 's1')).toMatchObject({ ok: true, events: [{ event: { type: 'session.opened' } }] });

    await house.stop();
    expect(await findHouse(stateDir)).toBeNull();
    const again = await build();
    expect(await ask(await connect(again.connection), 's1')).toMatchObject({ ok: true });
  });

  test('a second house on the same state folder is refused; a stale note is not in the way', async () => {
    const house = await build({ services: ['event-store'] });
    await expect(build()).rejects.toThrow(HouseRunningError);
    expect(await house.health()).toEqual({ 'event-store': true });
    const note = await readFile(join(stateDir, 'house.json'), 'utf8');
    await house.stop();

    await writeFile(join(stateDir, 'house.json'), note.replace(/"birth": "\d+"/, '"birth": "1"'));
    expect(await findHouse(stateDir)).toBeNull();
    await build({ services: ['event-store'] });
  });

  test('private keys are for their owner only', async () => {
    const house = await build({ services: ['event-store'] });
    expect((await stat(stateDir)).mode & 0o077).toBe(0);
    for (const dir of ['keys', 'nkeys']) {
      for (const name of await readdir(join(stateDir, dir))) {
        if (name === 'trust.json' || name.startsWith('.')) continue;
        expect(`${name} ${((await stat(join(stateDir, dir, name))).mode & 0o077).toString(8)}`).toBe(
          `${name} 0`,
        );
      }
    }
    expect(house.connection.person).toBe('ada');
  });

  test('one service is started again by name; it has no process to be killed', async () => {
    const house = await build({ services: ['event-store', 'observer'] });
    await house.restart('observer');
    await expect.poll(() => house.health()).toEqual({ 'event-store': true, observer: true });
    await expect(house.kill('observer', 'SIGKILL')).rejects.toThrow('no process of its own');
    await expect(house.restart('nobody')).rejects.toThrow('no service "nobody"');
  });

  test('what cannot start takes down what had been started', async () => {
    const wrong = build({
      services: ['event-store'],
      serviceEnv: { 'event-store': { INTERLOCK_PROFILE: 'nonsense' } },
    });
    await expect(wrong).rejects.toThrow('INTERLOCK_PROFILE');
    expect(await findHouse(stateDir)).toBeNull();
    await build({ services: ['event-store'] });
  });
});

describe('each in its own process', () => {
  test('comes up, is told of, survives the end of one of its services, and leaves nothing behind', async () => {
    const lines: UnitLine[] = [];
    const house = await build({ mode: 'processes', onLine: (line) => lines.push(line) });
    const pids = house.pids();
    expect(Object.keys(pids).toSorted()).toEqual([...ALL].toSorted());
    expect(new Set(Object.values(pids)).size).toBe(ALL.length);
    for (const { service, pid } of lines) expect(pids[service]).toBe(pid);
    expect((await findHouse(stateDir))?.pids).toEqual(pids);

    // Its folder holds its own private key and no other.
    expect((await readdir(join(stateDir, 'services', 'observer'))).toSorted()).toEqual([
      'observer.key',
      'trust.json',
    ]);
    expect(await readdir(join(stateDir, 'services', 'validator'))).toEqual(['trust.json']);

    const dead = pids.validator ?? 0;
    await house.kill('validator', 'SIGKILL');
    await expect.poll(() => house.pids().validator ?? dead, { timeout: 20_000 }).not.toBe(dead);
    await expect
      .poll(() => house.health(), { timeout: 20_000 })
      .toEqual(Object.fromEntries(ALL.map((name) => [name, true])));
    await expect.poll(async () => (await findHouse(stateDir))?.pids).toEqual(house.pids());
    expect(isAlive(dead)).toBe(false);

    const bus = await connect(house.connection);
    await open(bus, house.connection.keysDir, 's1');
    expect(await ask(bus, 's1')).toMatchObject({ ok: true });

    const all = Object.values(house.pids());
    await house.stop();
    for (const pid of all) expect(isAlive(pid)).toBe(false);
    expect(house.nats?.pid).toBeUndefined();
    expect(lines.filter(({ service }) => service === 'validator')).toHaveLength(2);
  }, 60_000);

  test('the secret reaches the gateway and nobody else', async () => {
    const secret = `sk-${Math.random()}`;
    const house = await build({ mode: 'processes', env: { ...process.env, ANTHROPIC_API_KEY: secret } });
    for (const [name, pid] of Object.entries(house.pids())) {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      expect(`${name} ${environment.includes(secret)}`).toBe(`${name} ${name === 'provider-gateway'}`);
    }
  }, 60_000);

  test('wrong settings are said at once and not tried again', async () => {
    const wrong = build({
      mode: 'processes',
      services: ['event-store'],
      serviceEnv: { 'event-store': { INTERLOCK_PROFILE: 'nonsense' } },
    });
    await expect(wrong).rejects.toThrow(ServiceFailedError);
  }, 60_000);
});
