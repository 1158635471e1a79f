import { DURABLES, STREAMS } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { poolOfDurable, type TopologyOptions, topologyOf } from './topology.ts';

const options: TopologyOptions = {
  profile: 'dev',
  pools: ['shell', 'fs', 'fs'],
  analytics: false,
  limits: {
    eventsBytes: 1,
    blobBytes: 2,
    liveBytes: 3,
    timersBytes: 4,
    deadLettersBytes: 5,
    bucketBytes: 6,
  },
};
const topology = topologyOf(options);
const stream = (name: string) => topology.streams.find((each) => each.name === name);

describe('topology', () => {
  test('T1: the log and the artifacts forget nothing and refuse when full', () => {
    for (const name of [STREAMS.events, STREAMS.blob]) {
      expect(stream(name)).toMatchObject({
        storage: 'file',
        retention: 'limits',
        discard: 'new',
        max_age: 0,
        max_msgs: -1,
        max_msgs_per_subject: -1,
        deny_delete: true,
        deny_purge: true,
        allow_direct: true,
      });
    }
  });

  test('T2: the log has no schedules, TTLs or rollups', () => {
    expect(stream(STREAMS.events)).toMatchObject({
      allow_msg_schedules: false,
      allow_msg_ttl: false,
      allow_rollup_hdrs: false,
      allow_atomic: true,
    });
  });

  test('the log wakes up readers with headers only', () => {
    expect(stream(STREAMS.events)?.republish).toEqual({
      src: 'ev.v1.>',
      dest: 'tail.v1.>',
      headers_only: true,
    });
  });

  test('T3: one consumer per durable and pool, in a fixed order, without a limit of deliveries', () => {
    expect(topology.consumers.map(({ stream: on, config }) => `${on}/${config.durable_name}`)).toEqual([
      'EV/provider-gateway',
      'EV/validator',
      'EV/policy-engine',
      'TM/policy-engine-timers',
      'EV/observer',
      'TM/observer-timers',
      'EV/event-store',
      'DLQ/event-store-dlq',
      'EV/executor-fs',
      'EV/executor-shell',
    ]);
    for (const { config } of topology.consumers)
      expect(config).toMatchObject({ ack_policy: 'explicit', ack_wait: 30e9, max_deliver: -1 });
  });

  test('filters are said in the one form the server gives back', () => {
    const config = (name: string) =>
      topology.consumers.find((consumer) => consumer.config.durable_name === name)?.config;
    expect(config('validator')?.filter_subjects).toEqual(DURABLES.validator.filters);
    expect(config('provider-gateway')).toMatchObject({ filter_subject: 'ev.v1.*.*.s.model.requested' });
    expect(config('executor-fs')).toMatchObject({
      filter_subject: 'ev.v1.*.*.i.*.tool.approval.allowed.fs',
    });
    expect(config('event-store-dlq')).not.toHaveProperty('filter_subject');
  });

  test.each([
    ['dev', 1],
    ['ha', 3],
    ['durable', 3],
  ] as const)('profile %s keeps %i copies of everything', (profile, copies) => {
    const { streams, consumers } = topologyOf({ ...options, profile });
    expect(
      new Set([...streams, ...consumers.map(({ config }) => config)].map((each) => each.num_replicas)),
    ).toEqual(new Set([copies]));
  });

  test('buckets have history 1 and TTLs per key', () => {
    for (const name of ['KV_registry', 'KV_lease'])
      expect(stream(name)).toMatchObject({
        max_msgs_per_subject: 1,
        allow_msg_ttl: true,
        allow_direct: true,
      });
  });

  test('every stream has a limit, and no message id is remembered longer than it must', () => {
    for (const each of topology.streams) {
      expect(each.max_bytes).toBeGreaterThan(0);
      expect(each.duplicate_window).toBe(100e6);
    }
  });

  test('analytics is there only when asked for', () => {
    const names = topologyOf({ ...options, analytics: true }).consumers.map(
      ({ config }) => config.durable_name,
    );
    expect(names).toContain('analytics');
  });

  test('the pool of a durable', () => {
    expect(poolOfDurable('executor-fs')).toBe('fs');
    expect(poolOfDurable('observer')).toBeNull();
    expect(poolOfDurable('executor-')).toBeNull();
    expect(poolOfDurable('executor-a b')).toBeNull();
  });
});
