/**
 * Makes the server hold what the topology says.
 *
 * V1. Idempotent: a second run changes nothing and reports nothing.
 * V2. Safe when several replicas do it at once: what another one made meanwhile counts as made.
 * V3. Nothing is ever deleted. What cannot be changed in place, and what is not ours, is reported and left alone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@interlock/kit';
import {
  type Actual,
  consumerObject,
  type DriftLine,
  describeDrift,
  driftOf,
  streamObject,
} from './drift.ts';
import {
  createStream,
  isPassing,
  JetStreamRefusedError,
  listConsumers,
  listStreams,
  putConsumer,
  updateStream,
} from './jetstream-api.ts';
import type { ConsumerConfig, Topology } from './topology.ts';

/** `repair`: make and correct; `create`: make what is missing, report the rest; `check`: report only. */
export type ProvisionMode = 'repair' | 'create' | 'check';

export interface ProvisionOptions {
  readonly mode: ProvisionMode;
  /** How long to wait for a server or a cluster that is coming up. Default 30 000. */
  readonly timeoutMs?: number;
}

export interface ProvisionReport {
  /** What was found before anything was done. */
  readonly drift: readonly DriftLine[];
  /** Objects made or corrected now, in the order of the topology. */
  readonly created: readonly string[];
  readonly repaired: readonly string[];
  /** What could not be corrected, each with the server's words. */
  readonly refused: readonly { readonly object: string; readonly why: string }[];
}

const TIMEOUT_MS = 30_000;
const ALREADY_THERE = new Set([10058, 10148, 10013]);
/** A race can lose once to each replica; after that something else is wrong. */
const ROUNDS = 5;

/**
 * @param topologyFor the topology, given what is there: executors' durables that exist are part of it
 * @throws NATS's errors when the server does not answer, or lacks peers for the copies, within `timeoutMs`
 */
export async function provision(
  bus: Bus,
  topologyFor: (actual: Actual) => Topology,
  { mode, timeoutMs = TIMEOUT_MS }: ProvisionOptions,
): Promise<ProvisionReport> {
  const deadline = performance.now() + timeoutMs;
  const patiently = <Result>(act: () => Promise<Result>): Promise<Result> => retried(act, deadline);
  const found = await patiently(() => readActual(bus));
  const topology = topologyFor(found);
  const drift = driftOf(topology, found);
  const outcome = {
    created: new Set<string>(),
    repaired: new Set<string>(),
    refused: new Map<string, string>(),
  };
  let actual = found;
  let open = mode === 'check' ? [] : drift;
  for (let round = 0; round < ROUNDS && open.some((line) => isOurs(line, mode, outcome.refused)); round++) {
    const todo = open.filter((line) => isOurs(line, mode, outcome.refused));
    const step: Step = { bus, topology, actual, todo, outcome };
    await Promise.all(topology.streams.map((stream) => patiently(() => settleStream(step, stream.name))));
    await Promise.all(topology.consumers.map((consumer) => patiently(() => settleConsumer(step, consumer))));
    actual = await patiently(() => readActual(bus));
    open = driftOf(topology, actual);
  }
  return {
    drift,
    created: [...outcome.created],
    repaired: [...outcome.repaired],
    refused: [...outcome.refused].map(([object, why]) => ({ object, why })),
  };
}

/** What the server has of what the topology may name. */
export async function readActual(bus: Bus): Promise<Actual> {
  const streams = await listStreams(bus);
  const consumers = await Promise.all(
    streams.map(async ({ name }) =>
      (await listConsumers(bus, name)).map((config) => ({ stream: name, config })),
    ),
  );
  return { streams, consumers: consumers.flat() };
}

/** Writes a report to the log: what was made at `info`, what had drifted at `warn`, what stays wrong at `error`. */
export function logReport(bus: Bus, report: ProvisionReport, mode: ProvisionMode): void {
  const fixed = new Set(report.repaired);
  for (const line of report.drift) {
    if (line.kind !== 'missing')
      bus.logger.warn({ code: 'drift', repaired: fixed.has(line.object) }, describeDrift(line));
    else if (mode === 'check') bus.logger.warn({ code: 'drift' }, describeDrift(line));
  }
  for (const { object, why } of report.refused) bus.logger.error({ object, why }, 'cannot be made as wanted');
  if (report.created.length > 0) bus.logger.info({ created: report.created }, 'provisioned');
}

interface Step {
  readonly bus: Bus;
  readonly topology: Topology;
  readonly actual: Actual;
  readonly todo: readonly DriftLine[];
  readonly outcome: {
    readonly created: Set<string>;
    readonly repaired: Set<string>;
    readonly refused: Map<string, string>;
  };
}

function isOurs(line: DriftLine, mode: ProvisionMode, refused: ReadonlyMap<string, string>): boolean {
  if (refused.has(line.object)) return false;
  return line.kind === 'missing' || (line.kind === 'changed' && mode === 'repair');
}

async function settleStream(step: Step, name: string): Promise<void> {
  const { bus, topology, actual, todo, outcome } = step;
  const object = streamObject(name);
  const wanted = topology.streams.find((stream) => stream.name === name);
  const kind = todo.find((line) => line.object === object)?.kind;
  if (!wanted || kind === undefined) return;
  // Options that are not ours (placement, a description) stay as they are.
  const present = actual.streams.find((stream) => stream.name === name);
  await settle({ outcome, object, kind }, () =>
    kind === 'missing' ? createStream(bus, wanted) : updateStream(bus, { ...present, ...wanted }),
  );
}

async function settleConsumer(step: Step, { stream, config }: Topology['consumers'][number]): Promise<void> {
  const { bus, actual, todo, outcome } = step;
  const object = consumerObject(stream, config.durable_name);
  const kind = todo.find((line) => line.object === object)?.kind;
  if (kind === undefined) return;
  const present = actual.consumers.find(
    (consumer) => consumer.stream === stream && consumer.config.durable_name === config.durable_name,
  )?.config;
  await settle({ outcome, object, kind }, () =>
    kind === 'missing'
      ? putConsumer(bus, stream, config, 'create')
      : putConsumer(bus, stream, withFilterOf(config, present), 'update'),
  );
}

function withFilterOf(config: ConsumerConfig, present: ConsumerConfig | undefined): ConsumerConfig {
  const { filter_subject: _one, filter_subjects: _many, ...rest } = present ?? config;
  return { ...rest, ...config };
}

interface Change {
  readonly outcome: Step['outcome'];
  readonly object: string;
  readonly kind: DriftLine['kind'];
}

async function settle({ outcome, object, kind }: Change, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof JetStreamRefusedError) || isPassing(error)) throw error;
    // Another replica was first: the next round compares what it made.
    if (!ALREADY_THERE.has(error.code)) outcome.refused.set(object, error.message);
    return;
  }
  (kind === 'missing' ? outcome.created : outcome.repaired).add(object);
}

async function retried<Result>(act: () => Promise<Result>, deadline: number): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
      await sleep(Math.min(1000, 50 * 2 ** tries));
    }
  }
}
