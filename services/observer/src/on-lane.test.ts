import { type LogBuilder, sample } from '@interlock/contracts/testing';
import { RetryableError } from '@interlock/kit';
import { describe, expect, test } from 'vitest';
import { called } from '../test/given.ts';
import { appendOnLane, type LaneDecision } from './on-lane.ts';
import type { Ports } from './ports.ts';

const ref = { tenant: 'local', session: 'demo' };

/** A log in which a stray overtakes the first `strays` appends. */
function racing(log: LogBuilder, strays: number): { ports: Ports; tails: number[] } {
  const tails: number[] = [];
  const session = {
    append: async (_lane: unknown, tail: { seq: number }) => {
      tails.push(tail.seq);
      if (tails.length > strays) return { ok: true };
      log.junk('i', 'a');
      return { ok: false };
    },
    latest: async () => log.state(),
  };
  return { ports: { log: session } as unknown as Ports, tails };
}

const cancel = (log: LogBuilder): LaneDecision => ({
  intent: 'a',
  state: log.state(),
  cause: { id: undefined, traceparent: undefined },
  decide: ({ stage }) =>
    stage === 'allowed' ? { type: 'tool.cancelled', data: { reason: 'expired' } } : null,
});

describe('appending on a lane', () => {
  test('not when nothing is due, and not on a lane of no call', async () => {
    const log = called({ a: 'started' });
    const { ports, tails } = racing(log, 0);
    expect(await appendOnLane(ports, ref, cancel(log))).toBe(false);
    expect(await appendOnLane(ports, ref, { ...cancel(log), intent: 'constructor' })).toBe(false);
    expect(tails).toEqual([]);
  });

  test('behind strays, on the tail as it is after each', async () => {
    const log = called({ a: 'allowed' });
    const { seq } = log;
    const { ports, tails } = racing(log, 2);
    expect(await appendOnLane(ports, ref, cancel(log))).toBe(true);
    expect(tails).toEqual([seq, seq + 1, seq + 2]);
  });

  test('not once another has moved the lane on', async () => {
    const log = called({ a: 'allowed' });
    const { ports } = racing(log, 1);
    const decision = cancel(log);
    log.append('tool.execution.started', sample('tool.execution.started'), { intent: 'a' });
    expect(await appendOnLane(ports, ref, decision)).toBe(false);
  });

  test('later, when others win all the time', async () => {
    const log = called({ a: 'allowed' });
    const { ports } = racing(log, 1000);
    await expect(appendOnLane(ports, ref, cancel(log))).rejects.toBeInstanceOf(RetryableError);
  });
});
