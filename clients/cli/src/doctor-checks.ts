/** What a house needs on this machine, checked one by one. A check says what is, and what to do where something is not. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findHouse, findNatsServer } from '@interlock/deploy';
import {
  describeDrift,
  eventStoreConfigSchema,
  provision,
  topologyFor,
  topologyOptionsOf,
} from '@interlock/event-store';
import { probeSandboxLevel } from '@interlock/executors';
import { loadConfig, messageOf } from '@interlock/kit';
import { connectAs, stateDirOf } from './house-connection.ts';
import type { Settings } from './settings.ts';

export interface Check {
  readonly name: string;
  /** `note` is worth knowing and no fault. */
  readonly state: 'ok' | 'note' | 'fault';
  readonly message: string;
}

const run = promisify(execFile);
const NODE_MAJOR = 24;
const NATS_MINIMUM = [2, 14] as const;

export async function* runChecks(settings: Settings): AsyncGenerator<Check> {
  const stateDir = stateDirOf(settings);
  yield checkNode();
  yield await tried('nats-server', checkNats);
  yield await tried('sandbox', checkSandbox);
  yield await tried('state folder', () => checkState(stateDir));
  yield checkKey();
  yield await tried('house', () => checkHouse(stateDir));
}

/** A check that fails to look is a fault, and the others still look. */
async function tried(name: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    return { name, state: 'fault', message: messageOf(error) };
  }
}

function checkNode(): Check {
  const major = Number(process.versions.node.split('.')[0]);
  return major >= NODE_MAJOR
    ? { name: 'node', state: 'ok', message: process.versions.node }
    : {
        name: 'node',
        state: 'fault',
        message: `${process.versions.node}; Node ${NODE_MAJOR} or later is needed`,
      };
}

async function checkNats(): Promise<Check> {
  const path = findNatsServer();
  const { stdout } = await run(path, ['--version']);
  const [major = 0, minor = 0] = (/v(\d+)\.(\d+)/.exec(stdout)?.slice(1) ?? []).map(Number);
  const enough = major > NATS_MINIMUM[0] || (major === NATS_MINIMUM[0] && minor >= NATS_MINIMUM[1]);
  return {
    name: 'nats-server',
    state: enough ? 'ok' : 'fault',
    message: `${stdout.trim()} (${path})${enough ? '' : '; 2.14 or later is needed'}`,
  };
}

async function checkSandbox(): Promise<Check> {
  const { level, shortfall } = await probeSandboxLevel(process.env);
  return level === 'A'
    ? { name: 'sandbox', state: 'ok', message: 'level A: bubblewrap works' }
    : {
        name: 'sandbox',
        state: 'note',
        message: `level ${level}: ${shortfall}. Commands that run project code are asked for.`,
      };
}

async function checkState(stateDir: string): Promise<Check> {
  const name = 'state folder';
  const keys = join(stateDir, 'keys');
  if (!existsSync(keys)) return { name, state: 'note', message: `${stateDir} is made at the first start` };
  const { mode } = await stat(keys);
  return (mode & 0o077) === 0
    ? { name, state: 'ok', message: `${stateDir}, keys readable by its owner only` }
    : { name, state: 'fault', message: `${keys} is readable by others: chmod 700 it` };
}

function checkKey(): Check {
  return process.env.ANTHROPIC_API_KEY
    ? { name: 'model key', state: 'ok', message: 'ANTHROPIC_API_KEY is set' }
    : {
        name: 'model key',
        state: 'note',
        message: 'ANTHROPIC_API_KEY is not set: only scripted models can be used',
      };
}

async function checkHouse(stateDir: string): Promise<Check> {
  const name = 'house';
  const found = await findHouse(stateDir);
  if (!found) return { name, state: 'note', message: 'none is running on this state folder' };
  const bus = await connectAs(found.url, 'operator/doctor', found.operatorSeedFile);
  try {
    const options = topologyOptionsOf(loadConfig(eventStoreConfigSchema, { env: process.env }));
    const { drift } = await provision(bus, (actual) => topologyFor(options, actual), { mode: 'check' });
    if (drift.length === 0)
      return { name, state: 'ok', message: `${found.url}, streams and consumers as the contracts say` };
    return { name, state: 'fault', message: `${found.url}: ${drift.map(describeDrift).join('; ')}` };
  } finally {
    await bus.drain();
  }
}
