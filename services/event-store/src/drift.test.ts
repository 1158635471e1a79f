import { describe, expect, test } from 'vitest';
import { type Actual, describeDrift, driftOf } from './drift.ts';
import type { Topology } from './topology.ts';

const wanted: Topology = {
  streams: [
    {
      name: 'EV',
      subjects: ['ev.v1.>'],
      max_bytes: 10,
      deny_delete: true,
      republish: { src: 'a', dest: 'b' },
    },
  ],
  consumers: [
    {
      stream: 'EV',
      config: { durable_name: 'observer', deliver_policy: 'all', filter_subjects: ['x', 'y'], ack_wait: 1 },
    },
    { stream: 'EV', config: { durable_name: 'dlq' } },
  ],
};
/** As a server says it: with defaults of its own, metadata, and some defaults left out. */
const actual: Actual = {
  streams: [
    {
      name: 'EV',
      subjects: ['ev.v1.>'],
      max_bytes: 10,
      deny_delete: true,
      republish: { src: 'a', dest: 'b' },
      metadata: { '_nats.ver': '2.15.1' },
      num_replicas: 1,
    },
    { name: 'SOMEONE_ELSES', subjects: ['other.>'] },
  ],
  consumers: [
    {
      stream: 'EV',
      config: { durable_name: 'observer', filter_subjects: ['y', 'x'], ack_wait: 1, max_waiting: 512 },
    },
    { stream: 'EV', config: { durable_name: 'dlq' } },
    { stream: 'SOMEONE_ELSES', config: { durable_name: 'theirs' } },
  ],
};
const lines = (from: Actual): string[] => driftOf(wanted, from).map(describeDrift);

describe('drift', () => {
  test('none: other defaults, metadata, other people’s streams and the order of filters do not count', () => {
    expect(lines(actual)).toEqual([]);
  });

  test('everything is missing on a new server', () => {
    expect(lines({ streams: [], consumers: [] })).toEqual([
      'stream EV is missing',
      'consumer EV/observer is missing',
      'consumer EV/dlq is missing',
    ]);
  });

  test('a changed option, with what it is and what it should be', () => {
    const streams = [
      { ...actual.streams[0], name: 'EV', subjects: ['ev.v1.>'], max_bytes: 7, deny_delete: false },
    ];
    expect(lines({ ...actual, streams })).toEqual([
      'stream EV: max_bytes is 7, wanted 10',
      'stream EV: deny_delete is false, wanted true',
    ]);
  });

  test('an option that is unset, and one inside another', () => {
    const streams = [
      { name: 'EV', subjects: ['ev.v1.>'], deny_delete: true, republish: { src: 'a', dest: 'c' } },
    ];
    expect(lines({ ...actual, streams })).toEqual([
      'stream EV: max_bytes is -1, wanted 10',
      'stream EV: republish is {"src":"a","dest":"c"}, wanted {"src":"a","dest":"b"}',
    ]);
  });

  test('a filter where none is wanted', () => {
    const consumers = actual.consumers.map((consumer) =>
      consumer.config.durable_name === 'dlq'
        ? { ...consumer, config: { durable_name: 'dlq', filter_subject: 'z' } }
        : consumer,
    );
    expect(lines({ ...actual, consumers })).toEqual(['consumer EV/dlq: filter_subject is "z", wanted unset']);
  });

  test('a consumer that is not ours, on a stream of ours', () => {
    const consumers = [...actual.consumers, { stream: 'EV', config: { durable_name: 'spy' } }];
    expect(lines({ ...actual, consumers })).toEqual(['consumer EV/spy is not one of ours']);
  });
});
