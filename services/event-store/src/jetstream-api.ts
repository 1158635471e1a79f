/** The JetStream API by plain requests: its own words, no option lost to a client that does not know it yet. */
import { type Bus, messageOf } from '@interlock/kit';
import type { ConsumerConfig, StreamConfig } from './topology.ts';

/** The server refused. */
export class JetStreamRefusedError extends Error {
  override readonly name = 'JetStreamRefusedError';
  /** NATS's `err_code`. */
  readonly code: number;
  readonly status: number;
  constructor(subject: string, error: ApiError) {
    super(`${subject}: ${error.description ?? 'refused'} (${error.err_code ?? error.code})`);
    this.code = error.err_code ?? 0;
    this.status = error.code;
  }
}

interface ApiError {
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
}

interface Page {
  readonly total: number;
  readonly limit: number;
}

const STREAM_NOT_FOUND = 10059;
const REQUEST_TIMEOUT_MS = 5000;

/** Codes that pass by themselves while a cluster comes up or elects. */
const PASSING = new Set([10005, 10008, 10009]);

/** Whether to ask again: no answer, no leader yet, no peers yet. */
export function isPassing(error: unknown): boolean {
  if (error instanceof JetStreamRefusedError) return error.status === 503 || PASSING.has(error.code);
  return (
    error instanceof Error && (error.name === 'TimeoutError' || /no ?responders/i.test(messageOf(error)))
  );
}

async function ask<Reply extends object>(bus: Bus, call: string, body?: unknown): Promise<Reply> {
  const subject = `${bus.apiPrefix}.${call}`;
  const payload = body === undefined ? '' : JSON.stringify(body);
  const message = await bus.request(subject, payload, { timeoutMs: REQUEST_TIMEOUT_MS });
  const reply = message.json<Reply & { readonly error?: ApiError }>();
  if (reply.error) throw new JetStreamRefusedError(subject, reply.error);
  return reply;
}

export async function listStreams(bus: Bus): Promise<StreamConfig[]> {
  return paged<{ readonly config: StreamConfig }>(bus, 'STREAM.LIST', 'streams');
}

/** The consumers of a stream; none when there is no such stream. Ones without a durable name are left out. */
export async function listConsumers(bus: Bus, stream: string): Promise<ConsumerConfig[]> {
  try {
    const configs = await paged<{ readonly config: ConsumerConfig }>(
      bus,
      `CONSUMER.LIST.${stream}`,
      'consumers',
    );
    return configs.filter((config) => config.durable_name !== undefined);
  } catch (error) {
    if (error instanceof JetStreamRefusedError && error.code === STREAM_NOT_FOUND) return [];
    throw error;
  }
}

async function paged<Item extends { readonly config: unknown }>(
  bus: Bus,
  call: string,
  member: string,
): Promise<Item['config'][]> {
  const configs: Item['config'][] = [];
  for (;;) {
    const page = await ask<Page & Record<string, unknown>>(bus, call, { offset: configs.length });
    const items = (page[member] ?? []) as Item[];
    configs.push(...items.map(({ config }) => config));
    if (items.length === 0 || configs.length >= page.total) return configs;
  }
}

export async function createStream(bus: Bus, config: StreamConfig): Promise<void> {
  await ask(bus, `STREAM.CREATE.${config.name}`, config);
}

export async function updateStream(bus: Bus, config: StreamConfig): Promise<void> {
  await ask(bus, `STREAM.UPDATE.${config.name}`, config);
}

/** @param action `create` refuses to change one that exists; `update` refuses to make one */
export async function putConsumer(
  bus: Bus,
  stream: string,
  config: ConsumerConfig,
  action: 'create' | 'update',
): Promise<void> {
  await ask(bus, `CONSUMER.CREATE.${stream}.${config.durable_name}`, { stream_name: stream, config, action });
}

/** The last sequence of a stream, by its leader; 0 when it is empty. */
export async function lastSequence(bus: Bus, stream: string): Promise<number> {
  const info = await ask<{ readonly state: { readonly last_seq: number } }>(bus, `STREAM.INFO.${stream}`);
  return info.state.last_seq;
}
