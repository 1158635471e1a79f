/** A connection to a house: the one that runs, or a private one that ends with the command. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  findHouse,
  type House,
  type HouseConnection,
  HouseRunningError,
  startHouse,
} from '@interlock/deploy';
import { connectBus, createLogger, type LogLevel, loadKeys, systemClock, systemIds } from '@interlock/kit';
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

/** Connects; starts a private house where none is reachable. */
export async function connect(context: CommandContext, need: Need): Promise<Connection> {
  const { settings } = context;
  const found = await findHouse(stateDirOf(settings));
  if (found && !found.isPrivate) return await joinHouse(context, found, null);
  const house = await startPrivate(context, need);
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

async function startPrivate({ settings, terminal, json }: CommandContext, need: Need): Promise<House> {
  const options = {
    mode: 'in-process' as const,
    isPrivate: true,
    person: settings.person.value ?? 'person',
    workspace: callerDirectory(),
    logLevel: logLevelOf(settings),
    ...(need === 'record' ? { services: ['event-store' as const] } : {}),
    ...(settings.natsUrl.value === undefined ? {} : { natsUrl: settings.natsUrl.value }),
  };
  const stateDir = stateDirOf(settings);
  try {
    return await startHouse({ ...options, stateDir });
  } catch (error) {
    if (!(error instanceof HouseRunningError)) throw error;
    // Another command holds the folder for as long as it runs; this one keeps its record beside it.
    const aside = join(stateDir, 'aside', systemIds.ulid());
    if (!json) terminal.note(`another command uses ${stateDir}; this one keeps its record in ${aside}`);
    return await startHouse({ ...options, stateDir: aside });
  }
}

async function joinHouse(
  context: CommandContext,
  at: HouseConnection,
  house: House | null,
): Promise<Connection> {
  const { settings } = context;
  const person = settings.person.value ?? at.person;
  const logger = createLogger({
    service: 'client',
    instance: String(process.pid),
    level: 'error',
    destination: process.stderr,
  });
  const instance = systemIds.ulid();
  const bus = await connectBus({
    url: settings.natsUrl.value ?? at.url,
    name: `client/${instance}`,
    logger,
    ...(at.nkeySeedFile === undefined ? {} : { nkeySeed: (await readFile(at.nkeySeedFile, 'utf8')).trim() }),
  });
  const { signers } = await loadKeys(at.keysDir);
  const signer = signers.get(`client-${person}`);
  return {
    bus,
    writer: {
      service: 'client',
      instance,
      clock: systemClock,
      ids: systemIds,
      ...(signer ? { signer } : {}),
    },
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

export function logLevelOf(settings: Settings): LogLevel {
  const level = settings.logLevel.value ?? 'info';
  const levels: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'];
  const known = levels.find((one) => one === level);
  if (!known) throw new CliError('usage', `There is no log level "${level}": use ${levels.join(', ')}.`);
  return known;
}
