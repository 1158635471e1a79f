/**
 * A house on this machine: nats-server, keys, and every service, in this process or each in its own.
 *
 * W1. The event-store is up before any other service is started: it provisions what they bind to.
 * W2. `stop` lets services finish what they have in hand, for ten seconds; the event-store goes last but for the server.
 * W3. One house a state folder (`house-registry.ts`). What it stores survives it.
 */
import { userInfo } from 'node:os';
import { isToken } from '@interlock/contracts';
import type { Env } from './child-env.ts';
import { buildHouse } from './house-builder.ts';
import { defaultStateDir, ensureLayout, type HouseLayout, layoutOf } from './house-layout.ts';
import type { HouseOptions } from './house-options.ts';
import { findNote, type HouseNote, newNote, takeNote } from './house-registry.ts';
import type { NatsServer } from './nats-launcher.ts';
import { seedFileOf } from './nkeys.ts';

export { defaultStateDir } from './house-layout.ts';
export type { HouseOptions } from './house-options.ts';
export { HouseRunningError } from './house-registry.ts';
export type { ServiceKind } from './house-services.ts';
export type { UnitLine } from './house-unit.ts';
export { ServiceFailedError } from './service-process.ts';

/** What a client needs to take part. */
export interface HouseConnection {
  readonly url: string;
  readonly stateDir: string;
  /** `client-<person>.key` signs answers. */
  readonly keysDir: string;
  /** Seed file of the user `client`; undefined where the server asks for none. Connect under a name `client/…`. */
  readonly nkeySeedFile: string | undefined;
  /** Seed file of the user `operator`, for `doctor`. Connect under a name `operator/…`. */
  readonly operatorSeedFile: string | undefined;
  readonly person: string;
}

export interface House {
  readonly connection: HouseConnection;
  /** The house's own server. */
  readonly nats: NatsServer | undefined;
  /** Whether each service says that it is ready. */
  health(): Promise<Record<string, boolean>>;
  /** Process ids by service. */
  pids(): Record<string, number>;
  /** Sends a signal to one service's process. Throws for a service that has none of its own, or is not here. */
  kill(service: string, signal: NodeJS.Signals): Promise<void>;
  /**
   * Ends a service and starts it again.
   * @param extra more settings, for this start only
   */
  restart(service: string, extra?: Env): Promise<void>;
  /** Ends everything. Safe to call twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a house and waits until all of it is ready.
 * @throws HouseRunningError, ServiceFailedError; NatsServerMissingError and NatsServerFailedError of the launcher;
 *   NatsUnreachableError for a `natsUrl` that does not answer. What was started is ended again.
 */
export async function startHouse(options: HouseOptions): Promise<House> {
  const layout = layoutOf(options.stateDir ?? defaultStateDir());
  const person = personOf(options.person);
  await ensureLayout(layout);
  const { natsUrl, isPrivate = false, workspace } = options;
  const note = newNote({ person, nkeys: natsUrl === undefined, isPrivate, workspace });
  await takeNote(layout.registryFile, note);
  const built = await buildHouse(options, layout, note);
  return {
    connection: connectionOf(layout, note, built.url),
    nats: built.nats,
    health: () => built.health(),
    pids: () => built.pids(),
    kill: (service, signal) => built.kill(service, signal),
    restart: (service, extra) => built.restart(service, extra),
    stop: () => built.stop(),
    [Symbol.asyncDispose]: () => built.stop(),
  };
}

/** A house that runs, as others find it. */
export interface FoundHouse extends HouseConnection {
  /** It ends with the command that started it. */
  readonly isPrivate: boolean;
  /** Where the person works who started it. */
  readonly workspace: string | undefined;
  /** Process ids by service. */
  readonly pids: Readonly<Record<string, number>>;
}

/** The house that runs on a state folder; null when there is none, or while it is still starting. */
export async function findHouse(stateDir: string): Promise<FoundHouse | null> {
  const layout = layoutOf(stateDir);
  const note = await findNote(layout.registryFile);
  if (note === null) return null;
  const { url, pids, isPrivate, workspace } = note;
  return { ...connectionOf(layout, note, url), pids, isPrivate, workspace };
}

function connectionOf(layout: HouseLayout, { person, nkeys }: HouseNote, url: string): HouseConnection {
  const seedFile = (user: string): string | undefined =>
    nkeys ? seedFileOf(layout.nkeysDir, user) : undefined;
  return {
    url,
    stateDir: layout.stateDir,
    keysDir: layout.keysDir,
    nkeySeedFile: seedFile('client'),
    operatorSeedFile: seedFile('operator'),
    person,
  };
}

function personOf(name: string | undefined): string {
  const person =
    name ??
    (userInfo()
      .username.replaceAll(/[^A-Za-z0-9_-]/g, '_')
      .slice(0, 50) ||
      'person');
  if (!isToken(person))
    throw new TypeError(`"${person}" is not a name for a person: use letters, digits, "_" or "-"`);
  return person;
}
