/** Wanted against actual. Pure. What the server adds of its own, and options nobody asked for, are no drift. */
import type { ConsumerConfig, StreamConfig, Topology } from './topology.ts';

/** What the server has, by its own account. */
export interface Actual {
  readonly streams: readonly StreamConfig[];
  readonly consumers: readonly { readonly stream: string; readonly config: ConsumerConfig }[];
}

export type DriftKind =
  /** Not there. */
  | 'missing'
  /** There, with another value of one option. */
  | 'changed'
  /** A consumer that is not ours, on a stream of ours. It is reported and left alone. */
  | 'unexpected';

export interface DriftLine {
  readonly kind: DriftKind;
  /** `stream EV`, `consumer EV/observer` */
  readonly object: string;
  /** `changed` only. */
  readonly option?: string;
  readonly wanted?: unknown;
  readonly actual?: unknown;
}

/** What the server leaves out when it says how a thing is set. */
const UNSAID: Readonly<Record<string, unknown>> = {
  deliver_policy: 'all',
  replay_policy: 'instant',
  compression: 'none',
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_deliver: -1,
};

export const streamObject = (name: string): string => `stream ${name}`;
export const consumerObject = (stream: string, name: string): string => `consumer ${stream}/${name}`;

/** Every difference, streams first, in the order of the topology. Empty: nothing to do. */
export function driftOf(wanted: Topology, actual: Actual): DriftLine[] {
  const streams = new Map(actual.streams.map((stream) => [stream.name, stream]));
  const consumers = new Map(
    actual.consumers.map(({ stream, config }) => [consumerObject(stream, config.durable_name), config]),
  );
  const ours = new Set(wanted.streams.map(({ name }) => name));
  const known = new Set(
    wanted.consumers.map(({ stream, config }) => consumerObject(stream, config.durable_name)),
  );
  return [
    ...wanted.streams.flatMap((stream) =>
      compare(streamObject(stream.name), stream, streams.get(stream.name)),
    ),
    ...wanted.consumers.flatMap(({ stream, config }) => {
      const object = consumerObject(stream, config.durable_name);
      return compare(object, config, consumers.get(object));
    }),
    ...actual.consumers
      .filter(
        ({ stream, config }) => ours.has(stream) && !known.has(consumerObject(stream, config.durable_name)),
      )
      .map(
        ({ stream, config }): DriftLine => ({
          kind: 'unexpected',
          object: consumerObject(stream, config.durable_name),
        }),
      ),
  ];
}

/** One line of the report, for people. */
export function describeDrift(line: DriftLine): string {
  switch (line.kind) {
    case 'missing':
      return `${line.object} is missing`;
    case 'unexpected':
      return `${line.object} is not one of ours`;
    case 'changed':
      return `${line.object}: ${line.option} is ${text(line.actual)}, wanted ${text(line.wanted)}`;
  }
}

function compare(
  object: string,
  wanted: Readonly<Record<string, unknown>>,
  actual: Readonly<Record<string, unknown>> | undefined,
): DriftLine[] {
  if (!actual) return [{ kind: 'missing', object }];
  return optionsOf(wanted).flatMap((option) => {
    const want = wanted[option] ?? UNSAID[option];
    const is = actual[option] ?? UNSAID[option];
    return same(want, is) ? [] : [{ kind: 'changed', object, option, wanted: want, actual: is } as const];
  });
}

/** A consumer without a filter must have none: the two ways to say one are always compared. */
function optionsOf(wanted: Readonly<Record<string, unknown>>): string[] {
  const filters = 'durable_name' in wanted ? ['filter_subject', 'filter_subjects'] : [];
  return [...new Set([...Object.keys(wanted), ...filters])];
}

/** Absent, false and empty are the same to the server. Lists of subjects are sets. */
function same(wanted: unknown, actual: unknown): boolean {
  return text(normal(wanted)) === text(normal(actual));
}

function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : [...value].sort();
  if (typeof value !== 'object' || value === null)
    return value === undefined || value === false ? null : value;
  const members = Object.entries(value).filter(([, member]) => normal(member) !== null);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function text(value: unknown): string {
  return value === undefined ? 'unset' : JSON.stringify(value);
}
