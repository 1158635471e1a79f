/** Starts a whole house with the bench's pool and drives scripted sessions through it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseEventSubject, STREAMS, tailSubject } from '@interlock/contracts';
import { type House, startHouse } from '@interlock/deploy';
import {
  type Bus,
  connectBus,
  createLogger,
  loadKeys,
  putArtifact,
  systemClock,
  systemIds,
} from '@interlock/kit';
import { openSession, type RuntimeContext } from '@interlock/runtime';
import { type Load, pause } from './floor.ts';
import { Meter } from './meter.ts';
import { BENCH_POOL } from './noop-executor.ts';

export interface GovernedLoad extends Load {
  /** Bytes and messages in the log so far. */
  logSize(): Promise<{ bytes: number; messages: number }>;
  /** One session with this many calls; milliseconds and bytes of each call. */
  longSession(calls: number): Promise<{ latencies: readonly number[]; bytes: number }>;
}

const CALLS_PER_SESSION = 20;
const SERVICES = ['event-store', 'provider-gateway', 'validator', 'policy-engine', 'observer'] as const;

export async function startGoverned(mode: 'processes' | 'in-process'): Promise<GovernedLoad> {
  const stateDir = await mkdtemp(join(tmpdir(), 'interlock-bench-'));
  const house = await startHouse({
    stateDir,
    mode,
    services: SERVICES,
    pools: [BENCH_POOL],
    logLevel: 'warn',
    workspace: stateDir,
  });
  const executor = await startExecutor(house, stateDir);
  const client = await connectClient(house);
  await registered(house, stateDir);
  const meter = new Meter();
  const waiting = new Map<string, () => void>();
  const tail = client.bus.nc.subscribe(tailSubject.tenant(client.tenant), {
    callback: (_error, message) => {
      const address = parseEventSubject(message.subject.replace(/^tail\./, 'ev.'));
      if (address?.type === 'model.requested') meter.tick(address.session);
      if (address?.type === 'run.finished') waiting.get(address.session)?.();
    },
  });
  const runSession = async (calls: number): Promise<void> => {
    const session = systemIds.ulid();
    const finished = new Promise<void>((resolve) => waiting.set(session, resolve));
    const handle = await openSession(client, {
      session,
      workspace: stateDir,
      mode: 'normal',
      model: { provider: 'scripted', model: 'script', script: await scriptOf(client, calls) },
    });
    await handle.say('go');
    await finished;
    waiting.delete(session);
    meter.end(session);
  };
  let target = 0;
  const workers = new Set<Promise<void>>();
  const keepUp = (): void => {
    for (let index = workers.size; index < target; index += 1) {
      const worker: Promise<void> = loop(index).finally(() => workers.delete(worker));
      workers.add(worker);
    }
  };
  const loop = async (index: number): Promise<void> => {
    while (index < target) await runSession(CALLS_PER_SESSION);
  };
  const logSize = async (): Promise<{ bytes: number; messages: number }> => await streamSize(house);
  return {
    pids: [house.nats?.pid ?? 0, executor.pid ?? 0, ...new Set(Object.values(house.pids()))],
    logSize,
    async measure(chains, seconds) {
      target = chains;
      keepUp();
      await pause(1500);
      meter.start();
      await pause(seconds * 1000);
      const sample = meter.stop();
      target = 0;
      await Promise.all(workers);
      return sample;
    },
    async longSession(calls) {
      const before = await logSize();
      meter.start();
      await runSession(calls);
      const { latencies } = meter.stop();
      return { latencies, bytes: (await logSize()).bytes - before.bytes };
    },
    async stop() {
      tail.unsubscribe();
      await client.bus.drain();
      executor.kill('SIGTERM');
      await house.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

const scripts = new Map<number, string>();

async function scriptOf(client: RuntimeContext, calls: number): Promise<string> {
  const known = scripts.get(calls);
  if (known) return known;
  const turns = Array.from({ length: calls }, (_, n) => ({ parts: [{ tool: 'noop', input: { n } }] }));
  const script = JSON.stringify({ turns: [...turns, { parts: [{ text: 'done' }] }] });
  const { uri } = await putArtifact(client.bus, client.tenant, script, { mediaType: 'application/json' });
  scripts.set(calls, uri);
  return uri;
}

async function startExecutor(house: House, stateDir: string): Promise<ChildProcess> {
  const { url, keysDir } = house.connection;
  const own = join(stateDir, 'bench-keys');
  await mkdir(own, { recursive: true });
  for (const file of ['trust.json', `executor-${BENCH_POOL}.key`])
    await copyFile(join(keysDir, file), join(own, file));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'noop-executor.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      INTERLOCK_BWRAP_BIN: process.env.INTERLOCK_BWRAP_BIN,
      INTERLOCK_NATS_URL: url,
      INTERLOCK_KEYS_DIR: own,
      INTERLOCK_NKEY_SEED_FILE: join(stateDir, 'nkeys', `executor-${BENCH_POOL}.nk`),
      INTERLOCK_WORKSPACE: stateDir,
      INTERLOCK_SPOOL_DIR: join(stateDir, 'bench-spool'),
      INTERLOCK_LOG_LEVEL: 'warn',
      INTERLOCK_ANNOUNCE: '1',
    },
  });
  return await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the executor of the bench ended with ${code}`)));
    if (child.stdout) createInterface({ input: child.stdout }).once('line', () => resolve(child));
  });
}

async function connectClient(house: House): Promise<RuntimeContext> {
  const { url, nkeySeedFile, keysDir, person } = house.connection;
  const instance = systemIds.ulid();
  const bus = await connectBus({
    url,
    name: `client/${instance}`,
    logger: createLogger({ level: 'warn' }),
    ...(nkeySeedFile ? { nkeySeed: (await readFile(nkeySeedFile, 'utf8')).trim() } : {}),
  });
  const signer = (await loadKeys(keysDir)).signers.get(`client-${person}`);
  return {
    bus,
    writer: { service: 'client', instance, clock: systemClock, ids: systemIds, signer },
    tenant: 'local',
    person,
  };
}

/** The tool counts once it is in the registry lane. */
async function registered(house: House, stateDir: string): Promise<void> {
  const deadline = Date.now() + 15_000;
  while ((await streamSize(house)).messages === 0) {
    if (Date.now() > deadline)
      throw new Error(`the bench's tool does not register; see ${join(stateDir, 'logs')}`);
    await pause(50);
  }
}

async function streamSize(house: House): Promise<{ bytes: number; messages: number }> {
  const { url, operatorSeedFile } = house.connection;
  const bus: Bus = await connectBus({
    url,
    name: 'operator/bench',
    logger: createLogger({ level: 'warn' }),
    ...(operatorSeedFile ? { nkeySeed: (await readFile(operatorSeedFile, 'utf8')).trim() } : {}),
  });
  try {
    const reply = await bus.request(`$JS.API.STREAM.INFO.${STREAMS.events}`, '', { timeoutMs: 5000 });
    const { state } = reply.json<{ state: { bytes: number; messages: number } }>();
    return { bytes: state.bytes, messages: state.messages };
  } finally {
    await bus.drain();
  }
}
