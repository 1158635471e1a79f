/** Starts the floor: its own nats-server, one process a role, chains that run until stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { launchNats } from '@interlock/deploy';
import { connectBus, createLogger } from '@interlock/kit';
import { AckPolicy, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { FLOOR_ROLES, FLOOR_STREAM, FLOOR_SUBJECTS, floorDurable, floorSubject } from './floor-roles.ts';
import { Meter, type Sample } from './meter.ts';

export interface Load {
  /** Runs `chains` side by side for `seconds`, after a short warm-up. */
  measure(chains: number, seconds: number): Promise<Sample>;
  /** Processes whose CPU counts. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export async function startFloor(payloadBytes: number): Promise<Load> {
  const dir = await mkdtemp(join(tmpdir(), 'interlock-floor-'));
  const nats = await launchNats({ dir });
  const bus = await connectBus({
    url: nats.url,
    name: 'floor/driver',
    logger: createLogger({ level: 'warn' }),
  });
  const manager = await jetstreamManager(bus.nc);
  await manager.streams.add({
    name: FLOOR_STREAM,
    subjects: [FLOOR_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    allow_direct: true,
  });
  for (const role of FLOOR_ROLES) {
    const { name, filters } = floorDurable(role);
    const durable_name = name;
    await manager.consumers.add(FLOOR_STREAM, {
      durable_name,
      filter_subjects: [...filters],
      ack_policy: AckPolicy.Explicit,
    });
  }
  const workers = await Promise.all(FLOOR_ROLES.map(({ role }) => startWorker(nats.url, role, payloadBytes)));
  const meter = new Meter();
  const requested = bus.nc.subscribe(floorSubject('*', 'requested'), {
    callback: (_error, message) => meter.tick(message.subject.split('.')[1] ?? ''),
  });
  const payload = Buffer.alloc(payloadBytes, 'x');
  let running = 0;
  return {
    pids: [nats.pid ?? 0, ...workers.map(({ pid }) => pid ?? 0)],
    async measure(chains, seconds) {
      // A chain never ends by itself, so a level adds the chains that are missing.
      for (; running < chains; running += 1) {
        await bus.request(floorSubject(`c${running}`, 'requested'), payload, { timeoutMs: 10_000 });
      }
      await pause(500);
      meter.start();
      await pause(seconds * 1000);
      return meter.stop();
    },
    async stop() {
      requested.unsubscribe();
      for (const worker of workers) worker.kill('SIGKILL');
      await bus.drain();
      await nats.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function startWorker(url: string, role: string, payloadBytes: number): Promise<ChildProcess> {
  const worker = spawn(
    process.execPath,
    [join(import.meta.dirname, 'floor-worker.ts'), url, role, String(payloadBytes)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new Error(`floor worker ${role} ended with ${code}`)));
    if (worker.stdout) createInterface({ input: worker.stdout }).once('line', () => resolve(worker));
  });
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
