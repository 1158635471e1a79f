// Real nats-server processes on this machine, for `interlock up` and for tests.
//  N1  A server's folder (configuration, log, JetStream's store) is the caller's: nothing here removes it, so a server
//      that was stopped or killed starts again on what it had stored.
//  N2  Address and store of a server never change while its handle lives.
//  N3  No server outlives this process: each is ended by its process id when the process exits, and the kernel ends it
//      where the process was killed (Linux).
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findNatsServer } from './find-nats-server.ts';
import { freePorts } from './free-ports.ts';

const FLOOR = { major: 2, minor: 14 };
const START_TIMEOUT_MS = 20_000;
const CLUSTER_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 20;

export interface NatsServerOptions {
  /** The server's own folder; made when it is not there. */
  readonly dir: string;
  /** Client port; default a free one. All ports listen on 127.0.0.1 only. */
  readonly port?: number;
  /** Default: `NATS_SERVER_BIN`, `PATH`, `.tools/`. */
  readonly bin?: string;
  /** More lines for the configuration (accounts, limits); not `listen`, `http`, `jetstream` or `cluster`. */
  readonly config?: string;
  /** JetStream's `sync_interval`; default the server's (two minutes). `always` is the profile `durable`. */
  readonly syncInterval?: string;
  /** Called when the server ends without having been asked to, with the end of its log. Must not throw. */
  readonly onUnexpectedEnd?: (logTail: string) => void;
}

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** The HTTP monitoring address (`/healthz`, `/jsz`, `/varz`). */
  readonly monitorUrl: string;
  readonly dir: string;
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** Starts it (again) and waits until it serves; nothing when it runs. */
  start(): Promise<void>;
  /** Asks it to end and waits; SIGKILL after ten seconds. */
  stop(): Promise<void>;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP, and waits until it is in force: alive, but silent. */
  pause(): Promise<void>;
  resume(): void;
}

/** A server did not come up; the message ends with what it logged. */
export class NatsServerFailedError extends Error {
  override readonly name = 'NatsServerFailedError';
  readonly code = 'nats_server_failed';
}

/** Starts one server with JetStream and waits until it serves. */
export async function launchNats(options: NatsServerOptions): Promise<NatsServer> {
  const [free, monitorPort] = await freePair();
  const server = createServer({ ...options, name: 'n1', port: options.port ?? free, monitorPort });
  await server.start();
  return server;
}

/** Starts `nodes` servers as one cluster, each in a folder of its own below `dir`, and waits for a meta leader. */
export async function launchNatsCluster(
  nodes: number,
  options: Omit<NatsServerOptions, 'port'>,
): Promise<NatsServer[]> {
  const ports = await freePorts(nodes * 3);
  const routes = ports.slice(nodes * 2).map((port) => `127.0.0.1:${port}`);
  const servers = routes.map((route, index) => {
    const [port, monitorPort] = [ports[index] ?? 0, ports[nodes + index] ?? 0];
    const name = `n${index + 1}`;
    return createServer({
      ...options,
      dir: join(options.dir, name),
      name,
      port,
      monitorPort,
      cluster: { route, routes },
    });
  });
  try {
    await Promise.all(servers.map((server) => server.start()));
    await Promise.all(servers.map((server) => waitForHealth(server.monitorUrl)));
  } catch (error) {
    await Promise.all(servers.map((server) => server.kill()));
    throw error;
  }
  return servers;
}

/** Waits until `/healthz` of that monitoring address is good: a leader is known and every asset is current. */
export async function waitForHealth(monitorUrl: string, timeoutMs = CLUSTER_TIMEOUT_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await answersOk(`${monitorUrl}/healthz`))) {
    if (Date.now() > deadline)
      throw new NatsServerFailedError(`${monitorUrl}/healthz is not good after ${timeoutMs} ms`);
    await sleep(POLL_MS);
  }
}

interface FullOptions extends NatsServerOptions {
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly cluster?: { readonly route: string; readonly routes: readonly string[] };
}

const live = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of live) child.kill('SIGKILL');
});

function createServer(options: FullOptions): NatsServer {
  const monitorUrl = `http://127.0.0.1:${options.monitorPort}`;
  let child: ChildProcess | undefined;
  let asked = false;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    if (!ending) return;
    asked = true;
    const gone = new Promise((resolve) => ending.once('exit', resolve));
    // One that is paused would never see another signal.
    ending.kill('SIGCONT');
    ending.kill(signal);
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(timer);
  };

  const server: NatsServer = {
    url: `nats://127.0.0.1:${options.port}`,
    port: options.port,
    monitorUrl,
    dir: options.dir,
    get pid() {
      return child?.pid;
    },
    async start() {
      if (child) return;
      asked = false;
      const started = await spawnServer(options);
      child = started;
      started.once('exit', () => {
        child = undefined;
        if (!asked) void logTail(options.dir).then(options.onUnexpectedEnd);
      });
      try {
        await waitUntilServing(options, () => child === started);
      } catch (error) {
        await end('SIGKILL');
        throw error;
      }
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async pause() {
      child?.kill('SIGSTOP');
      while (child?.pid && !(await isStopped(child.pid))) await sleep(1);
    },
    resume: () => void child?.kill('SIGCONT'),
  };
  return server;
}

async function spawnServer(options: FullOptions): Promise<ChildProcess> {
  await mkdir(options.dir, { recursive: true });
  const file = join(options.dir, 'nats.conf');
  await writeFile(file, configOf(options));
  const command = [...TIED_TO_THIS_PROCESS, options.bin ?? findNatsServer(), '-c', file];
  const [program = '', ...args] = command;
  // Its own `log_file` would not hold what is wrong with its configuration.
  const log = await open(join(options.dir, 'nats.log'), 'a');
  // Out of the terminal's reach: Ctrl-C is for the command, which still needs the server to end in order.
  const child = spawn(program, args, { stdio: ['ignore', log.fd, log.fd], detached: true });
  live.add(child);
  child.once('exit', () => live.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  }).finally(() => log.close());
  return child;
}

/** A parent that is killed runs no exit handler; the kernel ends the server then. `setpriv` becomes the server itself. */
const TIED_TO_THIS_PROCESS = existsSync('/usr/bin/setpriv')
  ? ['/usr/bin/setpriv', '--pdeathsig', 'TERM']
  : [];

function configOf(options: FullOptions): string {
  const { name, port, monitorPort, dir, syncInterval, cluster } = options;
  const quoted = (text: string): string => JSON.stringify(text);
  const sync = syncInterval ? `, sync_interval: ${quoted(syncInterval)}` : '';
  const lines = [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `jetstream { store_dir: ${quoted(join(dir, 'store'))}${sync} }`,
  ];
  if (cluster) {
    const routes = cluster.routes.map((route) => quoted(`nats://${route}`)).join(', ');
    lines.push(`cluster { name: interlock, listen: ${quoted(cluster.route)}, routes: [${routes}] }`);
  }
  return `${lines.join('\n')}\n${options.config ?? ''}\n`;
}

async function waitUntilServing(options: FullOptions, isAlive: () => boolean): Promise<void> {
  const monitorUrl = `http://127.0.0.1:${options.monitorPort}`;
  // A node of a cluster has to serve before the others can elect anybody with it.
  const health = `${monitorUrl}/healthz${options.cluster ? '?js-server-only=true' : ''}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answersOk(health))) {
    if (!isAlive()) throw await failure(options.dir, 'nats-server ended');
    if (Date.now() > deadline)
      throw await failure(options.dir, `nats-server is not ready after ${START_TIMEOUT_MS} ms`);
    await sleep(POLL_MS);
  }
  const { version } = (await (await fetch(`${monitorUrl}/varz`)).json()) as { version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > FLOOR.major || (major === FLOOR.major && minor >= FLOOR.minor)) return;
  throw new NatsServerFailedError(
    `nats-server is ${version}; ${FLOOR.major}.${FLOOR.minor} or later is needed`,
  );
}

async function answersOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

/** The signal takes effect a moment after it was sent; only Linux lets us see when, elsewhere the moment has passed. */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return sleep(50, true);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') T');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

async function failure(dir: string, what: string): Promise<NatsServerFailedError> {
  return new NatsServerFailedError(`${what}; the end of its log:\n${await logTail(dir)}`);
}

async function logTail(dir: string): Promise<string> {
  try {
    return (await readFile(join(dir, 'nats.log'), 'utf8')).trimEnd().split('\n').slice(-15).join('\n');
  } catch {
    return '(it logged nothing)';
  }
}

async function freePair(): Promise<[number, number]> {
  const [first = 0, second = 0] = await freePorts(2);
  return [first, second];
}
