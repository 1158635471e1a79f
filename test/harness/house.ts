/**
 * A whole house for a test file: a real nats-server with NKeys, and every service as `interlock up` starts it, on a new
 * state folder. On three nodes the servers are a cluster without users (users are made for a house's own server only).
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, type House, type HouseOptions, startHouse } from '@interlock/deploy';
import {
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  loadKeys,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import type { RuntimeContext } from '@interlock/runtime';
import { type NatsHandle, startNats } from './nats.ts';
import { createWorkspace } from './session.ts';

export interface TestHouseOptions
  extends Pick<HouseOptions, 'pools' | 'services' | 'serviceEnv' | 'workspace' | 'restart' | 'logLevel'> {
  /** Default `in-process`. */
  readonly mode?: HouseOptions['mode'];
  /** Settings of all services, over the environment of the test without its own `INTERLOCK_*` and keys. */
  readonly env?: Readonly<Record<string, string>>;
  /** One server (default) or a cluster of three. */
  readonly nats?: 1 | 3;
  /** Who has a key; the first one is the house's own person. Default `ada` and `bob`. */
  readonly people?: readonly string[];
}

/** The servers below a house, as a test harms them. */
export interface TestNats {
  /** SIGKILL; of a cluster, the node named, else all. */
  kill(node?: number): Promise<void>;
  /** Starts what was killed again, on what it had stored, at the same address. */
  restart(node?: number): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

export interface TestHouse {
  readonly stateDir: string;
  readonly url: string;
  readonly keysDir: string;
  readonly nats: TestNats;
  /** The house as deployed; another object after `restartAll`. */
  readonly house: House;
  /** A new connection for a person, by default the first. It is closed by `stop`, or before with `bus.drain()`. */
  client(person?: string): Promise<RuntimeContext>;
  /** A new connection with the rights of a broker user: a service, `executor-<pool>`, `operator`, `analytics`. */
  as(user: string): Promise<Bus>;
  /** Writes in the name of a service or, with `client-<person>`, of a person, with its key. */
  writer(name: string): Promise<Writer>;
  /** Seed of a broker user; undefined where the server asks for none. */
  seed(user: string): Promise<string | undefined>;
  /** Path of a new workspace with these files; `stop` removes it. */
  workspace(files?: Readonly<Record<string, string>>): Promise<string>;
  /** Ends everything, the server too, and starts it again on what it had stored. Connections find it again. */
  restartAll(): Promise<void>;
  /** Ends everything and removes its folders, unless INTERLOCK_TEST_KEEP=1. */
  stop(): Promise<void>;
}

const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });

/** Starts a house and waits until all of it is ready. */
export async function startTestHouse(options: TestHouseOptions = {}): Promise<TestHouse> {
  const { people = ['ada', 'bob'], nats: nodes = 1 } = options;
  const stateDir = await mkdtemp(join(tmpdir(), 'interlock-e2e-'));
  const keysDir = join(stateDir, 'keys');
  // Services read the public keys when they start.
  await ensureKeys(
    keysDir,
    people.map((person) => ({ name: `client-${person}`, role: 'client', person })),
  );
  const cluster = nodes === 3 ? await startNats({ nodes: 3 }) : undefined;
  const [natsPort] = await freePorts(1);
  const deployed: HouseOptions = {
    stateDir,
    mode: options.mode ?? 'in-process',
    person: people[0] ?? 'ada',
    logLevel: options.logLevel ?? 'info',
    env: environment(cluster ? { INTERLOCK_PROFILE: 'ha', ...options.env } : options.env),
    ...(cluster ? { natsUrl: cluster.urls.join(',') } : { natsPort }),
    ...given(options, ['pools', 'services', 'serviceEnv', 'workspace', 'restart']),
  };
  const begin = (): Promise<House> => startHouse(deployed);
  try {
    return createTestHouse({ stateDir, keysDir, people, cluster, begin }, await begin());
  } catch (error) {
    await cluster?.stop();
    await rm(stateDir, { recursive: true, force: true });
    throw error;
  }
}

interface Ground {
  readonly stateDir: string;
  readonly keysDir: string;
  readonly people: readonly string[];
  readonly cluster: NatsHandle | undefined;
  readonly begin: () => Promise<House>;
}

function createTestHouse({ stateDir, keysDir, people, cluster, begin }: Ground, first: House): TestHouse {
  let house = first;
  const buses: Bus[] = [];
  const removals: (() => Promise<void>)[] = [() => rm(stateDir, { recursive: true, force: true })];
  const { url } = first.connection;

  const seed = async (user: string): Promise<string | undefined> =>
    cluster ? undefined : (await readFile(join(stateDir, 'nkeys', `${user}.nk`), 'utf8')).trim();
  const as = async (user: string): Promise<Bus> => {
    const nkeySeed = await seed(user);
    const bus = await connectBus({ url, name: `${user}/${systemIds.ulid()}`, logger: quiet, nkeySeed });
    buses.push(bus);
    return bus;
  };
  const writer = async (name: string): Promise<Writer> => {
    const { signers } = await loadKeys(keysDir);
    const service = name.startsWith('client-') ? 'client' : name;
    const signer = signers.get(name);
    return { service, instance: systemIds.ulid(), signer, clock: systemClock, ids: systemIds };
  };
  return {
    stateDir,
    url,
    keysDir,
    nats: cluster ? natsOfCluster(cluster) : natsOfHouse(() => house),
    get house() {
      return house;
    },
    as,
    writer,
    seed,
    async client(person = people[0] ?? 'ada') {
      const [bus, own] = await Promise.all([as('client'), writer(`client-${person}`)]);
      return { bus, writer: own, tenant: 'local', person };
    },
    async workspace(files = {}) {
      const { path, remove } = await createWorkspace(files);
      removals.push(remove);
      return path;
    },
    async restartAll() {
      await house.stop();
      house = await begin();
    },
    async stop() {
      await Promise.all(buses.map((bus) => bus.drain()));
      await house.stop();
      await cluster?.stop();
      if (process.env.INTERLOCK_TEST_KEEP !== '1') await Promise.all(removals.map((remove) => remove()));
    },
  };
}

function natsOfCluster(cluster: NatsHandle): TestNats {
  return {
    kill: (node) => cluster.kill(node),
    restart: (node) => cluster.restart(node),
    pause: () => cluster.pause(),
    resume: () => cluster.resume(),
  };
}

function natsOfHouse(house: () => House): TestNats {
  const server = () => {
    const { nats } = house();
    if (!nats) throw new Error('the house has no server of its own');
    return nats;
  };
  return {
    kill: () => server().kill(),
    restart: () => server().start(),
    pause: () => server().pause(),
    resume: async () => server().resume(),
  };
}

/** What a developer's own settings say must not change a test; where the sandbox program lies is no setting. */
function environment(
  own: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string | undefined>> {
  const outer = Object.entries(process.env).filter(
    ([name]) => !/^(INTERLOCK_(?!BWRAP_BIN)|ANTHROPIC_)/.test(name),
  );
  return {
    ...Object.fromEntries(outer),
    // A scripted answer that takes its time is nothing to wait for at the end.
    INTERLOCK_MODEL_STOP_GRACE_MS: '100',
    ...own,
  };
}

/** The named options that were given. */
function given<Options extends object, Key extends keyof Options>(
  options: Options,
  keys: readonly Key[],
): Partial<Pick<Options, Key>> {
  return Object.fromEntries(
    keys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]),
  ) as Partial<Pick<Options, Key>>;
}
