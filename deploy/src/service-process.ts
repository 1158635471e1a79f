/**
 * One service as a process of its own.
 *
 * S1. It is ended by its process id, never by its name.
 * S2. One that ends without having been asked to is started again, each time a little later; one whose settings are
 *     wrong is not.
 * S3. It does not outlive this process: ended when this one exits, and by the kernel where this one was killed (Linux).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Env } from './child-env.ts';
import type { RunningUnit, UnitLine } from './house-unit.ts';

export interface ServiceProcessOptions {
  readonly name: string;
  /** `file:` URL of the program. */
  readonly main: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Start it again when it ends by itself. */
  readonly restart: boolean;
  /** Called at each start, once it is up. Must not throw. */
  readonly onUp: (line: UnitLine) => void;
  /** Called when it ended by itself, with what is known of why. Must not throw. */
  readonly onDown: (why: string) => void;
}

/** A service did not come up; the message ends with what it logged. */
export class ServiceFailedError extends Error {
  override readonly name = 'ServiceFailedError';
  readonly code = 'service_failed';
}

const START_TIMEOUT_MS = 45_000;
const FIRST_DELAY_MS = 200;
const LAST_DELAY_MS = 10_000;
/** One that ran this long is taken to be sound again. */
const SOUND_MS = 60_000;
/** The kit ends with 2 where settings are wrong: another start would end the same way. */
const WRONG_SETTINGS = 2;

const announcementSchema = z.object({ service: z.string(), pid: z.int(), health: z.string() });

const live = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of live) child.kill('SIGKILL');
});

/** A parent that is killed runs no exit handler; the kernel ends the service then. `setpriv` becomes the service itself. */
const TIED = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'TERM'] : [];

/** Starts it and waits until it says that it is up. */
export async function startServiceProcess(options: ServiceProcessOptions): Promise<RunningUnit> {
  let child: ChildProcess | undefined;
  let health = '';
  let asked = false;
  let delayMs = FIRST_DELAY_MS;
  let relaunching: Promise<void> | undefined;

  const launch = async (extra: Env = {}): Promise<void> => {
    const begun = performance.now();
    const started = await spawnService(options, extra);
    child = started;
    started.once('exit', (code, signal) => {
      if (child === started) child = undefined;
      if (asked) return;
      options.onDown(`${options.name} ended with ${signal ?? code}`);
      if (!options.restart || code === WRONG_SETTINGS) return;
      if (performance.now() - begun > SOUND_MS) delayMs = FIRST_DELAY_MS;
      relaunching = relaunch();
    });
    const line = await announcement(started, options);
    health = line.health;
    options.onUp(line);
  };

  const relaunch = async (): Promise<void> => {
    await sleep(delayMs);
    delayMs = Math.min(LAST_DELAY_MS, delayMs * 2);
    // A start that fails ends in `exit` again, which is where the next one comes from.
    if (!asked) await launch().catch((error: unknown) => options.onDown(String(error)));
  };

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = new Promise((resolve) => ending.once('exit', resolve));
    // One that is paused would never see another signal.
    ending.kill('SIGCONT');
    ending.kill(signal);
    await gone;
  };

  await launch();
  return {
    name: options.name,
    get pid() {
      return child?.pid;
    },
    get health() {
      return health;
    },
    isReady: () => (child ? answersReady(health) : Promise.resolve(false)),
    async kill(signal) {
      child?.kill(signal);
    },
    async stop() {
      asked = true;
      await end('SIGTERM');
      await relaunching;
      await end('SIGTERM');
    },
    async forceStop() {
      asked = true;
      await end('SIGKILL');
    },
    async restart(extra) {
      asked = true;
      await end('SIGTERM');
      await relaunching;
      // One that was being started again just then is up by now.
      await end('SIGTERM');
      asked = false;
      delayMs = FIRST_DELAY_MS;
      await launch(extra);
    },
  };
}

async function spawnService(
  { main, env, logFile }: ServiceProcessOptions,
  extra: Env,
): Promise<ChildProcess> {
  const [program = '', ...args] = [...TIED, process.execPath, fileURLToPath(main)];
  const log = await open(logFile, 'a', 0o600);
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', log.fd],
    env: { ...env, ...extra, INTERLOCK_ANNOUNCE: '1' },
    // Out of the terminal's reach: Ctrl-C is for the command that holds the house.
    detached: true,
  });
  live.add(child);
  child.once('exit', () => live.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  }).finally(() => log.close());
  return child;
}

async function announcement(child: ChildProcess, options: ServiceProcessOptions): Promise<UnitLine> {
  const { promise, resolve, reject } = Promise.withResolvers<UnitLine>();
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    reject(new Error('it is not up in time'));
  }, START_TIMEOUT_MS);
  child.once('exit', (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = parseLine(line);
      if (found) resolve(found);
    });
  }
  try {
    return await promise;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ServiceFailedError(
      `${options.name}: ${why}; the end of its log:\n${await tailOf(options.logFile)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

function parseLine(line: string): UnitLine | null {
  try {
    const parsed = announcementSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    // Something else that it printed.
    return null;
  }
}

async function tailOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trimEnd().split('\n').slice(-15).join('\n');
}

/** Whether a service's health address says that it is ready. */
async function answersReady(health: string): Promise<boolean> {
  try {
    return (await fetch(`${health}/readyz`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
