// A real NATS for a test file: its own servers, free ports, its own store. Never a mock, never a skip: where no server
// can be had, `startNats` throws and says what to do.
//
// Two back ends behind one handle: the nats-server program of this machine and, where there is none, the official
// image by testcontainers. INTERLOCK_TEST_NATS=binary or =docker picks one.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  findNatsServer,
  launchNats,
  launchNatsCluster,
  type NatsServer,
  NatsServerMissingError,
  waitForHealth,
} from '@interlock/deploy';
import { startContainers } from './nats-docker.ts';

export interface NatsOptions {
  /** One server (default) or a cluster of three. */
  readonly nodes?: 1 | 3;
  /** Client port of a single server; default a free one. */
  readonly port?: number;
  /** Folder of the servers; default a new one, removed by `stop`. One that is given is kept. */
  readonly storeDir?: string;
  /** More lines for the servers' configuration (accounts, limits). */
  readonly config?: string;
  /** JetStream's `sync_interval`, for the profile `durable`: `always`. */
  readonly syncInterval?: string;
}

/** One server as the harness drives it. */
export interface NatsNode {
  readonly url: string;
  readonly pid: number | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void> | void;
}

/** Started servers. Where a method takes a node's index, leaving it out means all of them. */
export interface NatsHandle {
  /** The first node's address. */
  readonly url: string;
  readonly urls: string[];
  /** Process ids of the nodes that run; empty with the Docker back end. */
  readonly pids: number[];
  readonly storeDir: string;
  /** Ends all servers and removes the store, unless the store was given. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(node?: number): Promise<void>;
  /** Starts again on the same store and port, after a graceful end where it still runs; waits until it serves. */
  restart(node?: number): Promise<void>;
  /** The server stays alive and says nothing. */
  pause(node?: number): Promise<void>;
  resume(node?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts NATS with JetStream and waits until it serves, three nodes until they have a leader.
 * @throws NatsServerMissingError where neither a program nor Docker is there
 */
export async function startNats(options: NatsOptions = {}): Promise<NatsHandle> {
  const backend = await chooseBackend();
  const storeDir = options.storeDir ?? (await mkdtemp(join(tmpdir(), 'interlock-nats-')));
  const removeStore = async (): Promise<void> => {
    if (!options.storeDir) await rm(storeDir, { recursive: true, force: true });
  };
  try {
    const cluster = await (backend === 'docker' ? startContainers : startPrograms)(options, storeDir);
    return handleOf(cluster, storeDir, removeStore);
  } catch (error) {
    await removeStore();
    throw error;
  }
}

/** The nodes, and how to wait until all of them agree on a leader. */
export interface Cluster {
  readonly nodes: readonly NatsNode[];
  ready(): Promise<void>;
}

async function startPrograms(options: NatsOptions, dir: string): Promise<Cluster> {
  const { nodes: count = 1, port, config, syncInterval } = options;
  const shared = { dir, ...(config && { config }), ...(syncInterval && { syncInterval }) };
  const nodes: NatsServer[] =
    count === 1
      ? [await launchNats({ ...shared, ...(port && { port }) })]
      : await launchNatsCluster(count, shared);
  return {
    nodes,
    ready: async () => void (await Promise.all(nodes.map((node) => waitForHealth(node.monitorUrl)))),
  };
}

function handleOf(cluster: Cluster, storeDir: string, removeStore: () => Promise<void>): NatsHandle {
  const { nodes } = cluster;
  const each = async (
    index: number | undefined,
    act: (node: NatsNode) => Promise<void> | void,
  ): Promise<void> => {
    await Promise.all(nodes.filter((_, at) => index === undefined || at === index).map(act));
  };
  const stop = async (): Promise<void> => {
    await each(undefined, (node) => node.stop());
    await removeStore();
  };
  return {
    url: nodes[0]?.url ?? '',
    urls: nodes.map((node) => node.url),
    get pids() {
      return nodes.flatMap((node) => node.pid ?? []);
    },
    storeDir,
    stop,
    kill: (index) => each(index, (node) => node.kill()),
    async restart(index) {
      await each(index, (node) => node.stop());
      await each(index, (node) => node.start());
      await cluster.ready();
    },
    pause: (index) => each(index, (node) => node.pause()),
    resume: (index) => each(index, (node) => node.resume()),
    [Symbol.asyncDispose]: stop,
  };
}

async function chooseBackend(): Promise<'binary' | 'docker'> {
  const wanted = process.env.INTERLOCK_TEST_NATS;
  if (wanted === 'docker') return 'docker';
  try {
    findNatsServer();
    return 'binary';
  } catch (error) {
    if (wanted === 'binary' || !(error instanceof NatsServerMissingError)) throw error;
    if (await dockerAnswers()) return 'docker';
    throw new NatsServerMissingError(`${error.message}; Docker, the other way, does not answer`);
  }
}

/** The client being installed says nothing about an engine behind it. */
async function dockerAnswers(): Promise<boolean> {
  try {
    await promisify(execFile)('docker', ['info'], { timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}
