/**
 * A connection to a house: the one that runs, or a private one that ends with the command.
 *
 * H1. A house of the state folder that was started by `up` is joined; another command's private one never is.
 * H2. With a server named, a house that answers there is joined; where none does, a private one runs on that server.
 */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rpcSubject } from '@interlock/contracts';
import {
  findHouse,
  type House,
  type HouseConnection,
  HouseRunningError,
  startHouse,
} from '@interlock/deploy';
import {
  type Bus,
  callRpc,
  connectBus,
  createLogger,
  LOG_LEVELS,
  type LogLevel,
  loadKeys,
  RetryableError,
  systemClock,
  systemIds,
} from '@interlock/kit';
import type { RuntimeContext } from '@interlock/runtime';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command-context.ts';
import { callerDirectory, type Settings } from './settings.ts';

/** `record`: only the log is read or written to; `all`: a run needs every service. */
export type Need = 'record' | 'all';

export interface Connection extends RuntimeContext {
  readonly url: string;
  readonly stateDir: string;
  /** True when this command started the house and ends it. */
  readonly isPrivate: boolean;
  close(): Promise<void>;
}

/** How long a house that is starting is waited for. */
const STARTING_LIMIT_MS = 45_000;
const STARTING_POLL_MS = 100;
const ANSWER_LIMIT_MS = 2_000;

/** Connects; starts a private house where none is reachable. */
export async function connect(context: CommandContext, need: Need): Promise<Connection> {
  const found = await findHouse(stateDirOf(context.settings));
  if (found && !found.isPrivate) return await joinHouse(context, found, null);
  const named = await joinNamed(context);
  if (named) return named;
  const house = await startPrivate(context, need);
  if (!('stop' in house)) return await joinHouse(context, house, null);
  try {
    return await joinHouse(context, house.connection, house);
  } catch (error) {
    await house.stop();
    throw error;
  }
}

/** Connects, does something, and lets go again whatever happens. */
export async function withConnection(
  context: CommandContext,
  need: Need,
  act: (connection: Connection) => Promise<void>,
): Promise<void> {
  const connection = await connect(context, need);
  try {
    await act(connection);
  } finally {
    await connection.close();
  }
}

export function stateDirOf(settings: Settings): string {
  const { value } = settings.stateDir;
  if (value === undefined) throw new CliError('config_invalid', 'There is no state folder.');
  return value;
}

/** The house whose event-store answers on the server that is named; null when none is, or does. */
async function joinNamed(context: CommandContext): Promise<Connection | null> {
  const { settings } = context;
  const url = settings.natsUrl.value;
  if (url === undefined) return null;
  const stateDir = stateDirOf(settings);
  const connection = await joinHouse(context, connectionAt(url, stateDir, settings), null);
  if (await answers(connection)) return connection;
  await connection.close();
  return null;
}

/** What a state folder holds for clients of a server that this machine does not run. */
function connectionAt(url: string, stateDir: string, settings: Settings): HouseConnection {
  const seed = (user: string): string | undefined => {
    const file = join(stateDir, 'nkeys', `${user}.nk`);
    return existsSync(file) ? file : undefined;
  };
  return {
    url,
    stateDir,
    keysDir: join(stateDir, 'keys'),
    nkeySeedFile: seed('client'),
    operatorSeedFile: seed('operator'),
    person: settings.person.value ?? 'person',
  };
}

async function answers({ bus, tenant }: RuntimeContext): Promise<boolean> {
  try {
    await callRpc(bus, {
      subject: rpcSubject.query(tenant, 'sessions'),
      rpc: 'query.sessions',
      request: { limit: 1 },
      timeoutMs: ANSWER_LIMIT_MS,
    });
    return true;
  } catch (error) {
    if (error instanceof RetryableError) return false;
    throw error;
  }
}

/** A house of this command's own; or the one that somebody is starting at this moment, once it is up. */
async function startPrivate(
  { settings, terminal, json }: CommandContext,
  need: Need,
): Promise<House | HouseConnection> {
  const options = {
    mode: 'in-process' as const,
    isPrivate: true,
    person: settings.person.value,
    workspace: callerDirectory(),
    logLevel: logLevelOf(settings),
    natsUrl: settings.natsUrl.value,
    services: need === 'record' ? ['event-store' as const] : undefined,
  };
  const stateDir = stateDirOf(settings);
  try {
    return await startHouse({ ...options, stateDir });
  } catch (error) {
    if (!(error instanceof HouseRunningError)) throw error;
    const joined = error.note.isPrivate ? null : await whenUp(stateDir);
    if (joined) return joined;
    // Another command holds the folder for as long as it runs; this one keeps its record beside it.
    const aside = join(stateDir, 'aside', systemIds.ulid());
    if (!json) terminal.note(`another command uses ${stateDir}; this one keeps its record in ${aside}`);
    return await startHouse({ ...options, stateDir: aside });
  }
}

async function whenUp(stateDir: string): Promise<HouseConnection | null> {
  const deadline = performance.now() + STARTING_LIMIT_MS;
  while (performance.now() < deadline) {
    const found = await findHouse(stateDir);
    if (found) return found.isPrivate ? null : found;
    await sleep(STARTING_POLL_MS);
  }
  return null;
}

async function joinHouse(
  { settings }: CommandContext,
  at: HouseConnection,
  house: House | null,
): Promise<Connection> {
  const person = personOf(settings, at);
  const instance = systemIds.ulid();
  const bus = await connectAs(at.url, `client/${instance}`, at.nkeySeedFile);
  const signer = existsSync(at.keysDir)
    ? (await loadKeys(at.keysDir)).signers.get(`client-${person}`)
    : undefined;
  return {
    bus,
    writer: { service: 'client', instance, signer, clock: systemClock, ids: systemIds },
    tenant: settings.tenant.value ?? 'local',
    person,
    url: at.url,
    stateDir: at.stateDir,
    isPrivate: house !== null,
    async close() {
      await bus.drain();
      await house?.stop();
    },
  };
}

/** The person of a house that runs, unless another one is named: only that one's key is sure to be there. */
function personOf(settings: Settings, at: HouseConnection): string {
  const { value, source } = settings.person;
  return source === 'default' || value === undefined ? at.person : value;
}

/** A connection that reports nothing but failures of its own. */
export async function connectAs(url: string, name: string, seedFile: string | undefined): Promise<Bus> {
  return await connectBus({
    url,
    name,
    logger: createLogger({
      service: name.split('/')[0] ?? name,
      instance: String(process.pid),
      level: 'fatal',
      destination: process.stderr,
    }),
    nkeySeed: seedFile === undefined ? undefined : (await readFile(seedFile, 'utf8')).trim(),
  });
}

export function logLevelOf(settings: Settings): LogLevel {
  const level = settings.logLevel.value ?? 'info';
  const known = LOG_LEVELS.find((one) => one === level);
  if (!known) throw new CliError('usage', `There is no log level "${level}": use ${LOG_LEVELS.join(', ')}.`);
  return known;
}
