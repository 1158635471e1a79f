import { type Durable, EMPTY_LANE, STREAMS } from '@interlock/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  ack,
  append,
  appendInbox,
  type Bus,
  type Consumer,
  type ConsumerOptions,
  createMetrics,
  type Delivery,
  nak,
  RetryableError,
  runConsumer,
  TerminalError,
  term,
} from '../src/index.ts';
import { retrying, userMessage } from './drafts.ts';
import {
  filterOf,
  type House,
  journal,
  newSession,
  provisionDurable,
  startHouse,
  until,
  writerOf,
} from './house.ts';

let house: House;
let bus: Bus;
const gateway = writerOf('provider-gateway');
const running: Consumer[] = [];

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
});
afterAll(() => house.stop());

function durableOf(session: string): Durable {
  return { name: `durable-${session}`, stream: STREAMS.events, filters: [filterOf(session)] };
}

function start(over: Bus, options: ConsumerOptions): Consumer {
  const consumer = runConsumer(over, options);
  running.push(consumer);
  return consumer;
}

async function send(session: string, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await appendInbox(bus, gateway, { tenant: 'local', session }, userMessage(text));
  }
}

function textOf({ entry }: Delivery): string {
  return entry.type === 'user.message' ? entry.data.text : entry.type;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function pendingOf(durable: Durable): Promise<{ waiting: number; unacked: number }> {
  const { consumers } = await jetstreamManager(bus.nc);
  const info = await consumers.info(durable.stream, durable.name);
  return { waiting: info.num_pending, unacked: info.num_ack_pending };
}

describe('a consumer', () => {
  test('delivers events with what is known about them, and acks', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const metrics = createMetrics('test');
    const seen: Delivery[] = [];
    start(bus, {
      durable,
      metrics,
      handle: async (delivery) => {
        seen.push(delivery);
        return ack;
      },
    });
    const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
    const draft = { ...userMessage('hello'), traceparent };
    const { seq, id } = await appendInbox(bus, gateway, { tenant: 'local', session }, draft);
    await until(async () => (await pendingOf(durable)).unacked === 0 && seen.length === 1);
    expect(seen[0]).toMatchObject({ seq, redeliveries: 0, entry: { seq, envelope: { id } } });
    expect(seen[0]?.traceparent).toMatch(/^00-0123456789abcdef0123456789abcdef-/);
    expect(seen[0]?.traceparent).not.toBe(traceparent);
    expect(Math.abs(Date.now() - (seen[0]?.timestamp.getTime() ?? 0))).toBeLessThan(10_000);
    expect(await metrics.registry.metrics()).toMatch(/interlock_deliveries_total{[^}]*fate="ack"[^}]*} 1/);
  });

  test('keeps a delivery alive while its handler runs', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable, { ackWaitMs: 400 });
    let calls = 0;
    start(bus, {
      durable,
      heartbeatMs: 100,
      handle: async () => {
        calls += 1;
        await sleep(1500);
        return ack;
      },
    });
    // The second waits for the first: it must be kept alive too.
    await send(session, 'slow', 'slow too');
    await until(async () => calls === 2 && (await pendingOf(durable)).unacked === 0);
    await sleep(600);
    expect(calls).toBe(2);
  });

  test('handles one session in order and sessions side by side', async () => {
    const [a, b] = [newSession(), newSession()];
    const durable = { name: `durable-${a}`, stream: STREAMS.events, filters: [filterOf(a), filterOf(b)] };
    await provisionDurable(bus, durable);
    await send(a, 'a1', 'a2', 'a3');
    await send(b, 'b1');
    const events: string[] = [];
    start(bus, {
      durable,
      handle: async (delivery) => {
        events.push(`+${textOf(delivery)}`);
        await sleep(textOf(delivery).startsWith('a') ? 150 : 10);
        events.push(`-${textOf(delivery)}`);
        return ack;
      },
    });
    await until(() => events.length === 8);
    expect(events.filter((event) => event.includes('a'))).toEqual(['+a1', '-a1', '+a2', '-a2', '+a3', '-a3']);
    expect(events.indexOf('-b1')).toBeLessThan(events.indexOf('-a1'));
  });

  test('takes no more than it can start, so that two share', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable, { ackWaitMs: 1000 });
    const handledBy: string[][] = [[], []];
    let inHand = 0;
    let most = 0;
    const handle =
      (who: number) =>
      async (delivery: Delivery): Promise<typeof ack> => {
        inHand += 1;
        most = Math.max(most, inHand);
        handledBy[who]?.push(textOf(delivery));
        await sleep(200);
        inHand -= 1;
        return ack;
      };
    const key = (delivery: Delivery): string => String(delivery.seq);
    const consumers = [0, 1].map(async (who) =>
      start(await house.bus(), { durable, concurrency: 2, key, handle: handle(who) }),
    );
    await Promise.all(consumers);
    await until(() => running.every((consumer) => consumer.bound()));
    await send(session, ...Array.from({ length: 10 }, (_, n) => `m${n}`));
    await until(async () => handledBy.flat().length >= 10 && (await pendingOf(durable)).unacked === 0);
    expect(handledBy.flat().sort()).toEqual(Array.from({ length: 10 }, (_, n) => `m${n}`));
    expect(Math.min(...handledBy.map((each) => each.length))).toBeGreaterThanOrEqual(3);
    expect(most).toBeLessThanOrEqual(4);
  });

  test('gives each handler the fate it asks for', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const calls: string[] = [];
    const seen: Record<string, number> = {};
    const advisories: unknown[] = [];
    bus.nc.subscribe(`$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EV.${durable.name}`, {
      callback: (_error, message) => void advisories.push(message.json()),
    });
    start(bus, {
      durable,
      key: (delivery) => String(delivery.seq),
      handle: async (delivery) => {
        const text = textOf(delivery);
        const nth = (seen[text] ?? 0) + 1;
        seen[text] = nth;
        calls.push(`${text}#${delivery.redeliveries}`);
        if (text === 'nak') return nth === 1 ? nak(50) : ack;
        if (text === 'retryable' && nth === 1)
          throw new RetryableError('pool_unavailable', 'later', { delayMs: 50 });
        if (text === 'terminal') throw new TerminalError('message_too_large', 'never');
        if (text === 'term') return term('unreadable_event', 'not  this\none');
        if (text === 'bug' && nth === 1) throw new Error('oops');
        return ack;
      },
    });
    await send(session, 'nak', 'retryable', 'terminal', 'term', 'bug', 'plain');
    await until(async () => calls.length >= 9 && (await pendingOf(durable)).unacked === 0);
    expect(calls.sort()).toEqual(
      [
        'bug#0',
        'bug#1',
        'nak#0',
        'nak#1',
        'plain#0',
        'retryable#0',
        'retryable#1',
        'term#0',
        'terminal#0',
      ].sort(),
    );
    await until(() => advisories.length === 2);
    expect(advisories).toContainEqual(expect.objectContaining({ reason: 'unreadable_event: not this one' }));
    expect(advisories).toContainEqual(expect.objectContaining({ reason: 'message_too_large: never' }));
  });

  test('gives up on a bug after eight failures', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable, { ackWaitMs: 60_000 });
    let calls = 0;
    start(bus, {
      durable,
      bugDelayMs: 1,
      handle: async () => {
        calls += 1;
        throw new Error('always');
      },
    });
    await send(session, 'cursed');
    await until(async () => calls === 8 && (await pendingOf(durable)).unacked === 0);
    await sleep(600);
    expect(calls).toBe(8);
  });

  test('gives up on a message that was delivered hundreds of times', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable, { ackWaitMs: 60_000 });
    let calls = 0;
    start(bus, {
      durable,
      bugDelayMs: 1,
      handle: async (delivery) => {
        calls += 1;
        // As if it had ended its process each time.
        Object.assign(delivery, { redeliveries: 200 });
        throw new Error('always');
      },
    });
    await send(session, 'cursed');
    await until(async () => calls === 1 && (await pendingOf(durable)).unacked === 0);
    await sleep(100);
    expect(calls).toBe(1);
  });

  test('does not count an outage of the broker against a message', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable, { ackWaitMs: 60_000 });
    let calls = 0;
    start(bus, {
      durable,
      bugDelayMs: 60_000,
      handle: async () => {
        calls += 1;
        if (calls === 1) throw new TimeoutError();
        return ack;
      },
    });
    await send(session, 'slow');
    await until(async () => calls === 2 && (await pendingOf(durable)).unacked === 0);
  });

  test('acks what it cannot read, unless told otherwise', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const subject = `ev.v1.local.${session}.u.user.message`;
    await bus.request(subject, 'not an event', { timeoutMs: 5000 });
    const seen: string[] = [];
    const consumer = start(bus, {
      durable,
      handle: async (delivery) => {
        seen.push(textOf(delivery));
        return ack;
      },
    });
    await send(session, 'readable');
    await until(async () => seen.length === 1 && (await pendingOf(durable)).unacked === 0);
    await consumer.stop();
    const unreadable: string[] = [];
    start(bus, {
      durable,
      handle: async () => ack,
      handleUnreadable: async ({ entry }) => {
        unreadable.push(entry.type === 'unreadable' ? entry.code : '');
        return ack;
      },
    });
    await bus.request(subject, '{"specversion":"1.0"}', { timeoutMs: 5000 });
    await until(() => unreadable.length === 1);
    expect(unreadable).toEqual(['unreadable_event']);
  });

  test('waits for its durable, notices when it is deleted, and binds again', async () => {
    const session = newSession();
    const durable = durableOf(session);
    const seen: string[] = [];
    const consumer = start(bus, {
      durable,
      handle: async (delivery) => {
        seen.push(textOf(delivery));
        return ack;
      },
    });
    await send(session, 'one');
    await sleep(400);
    expect(consumer.bound()).toBe(false);
    await provisionDurable(bus, durable);
    await until(() => seen.length === 1);
    expect(consumer.bound()).toBe(true);
    const { consumers } = await jetstreamManager(bus.nc);
    await consumers.delete(durable.stream, durable.name);
    await until(() => !consumer.bound());
    await send(session, 'two');
    await provisionDurable(bus, durable);
    await until(() => seen.includes('two'));
    expect(consumer.bound()).toBe(true);
  });

  test('notices a deleted durable also when no request was open', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const started: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const consumer = start(bus, {
      durable,
      concurrency: 1,
      handle: async (delivery) => {
        started.push(textOf(delivery));
        await held;
        return ack;
      },
    });
    await send(session, 'one');
    await until(() => started.length === 1);
    const { consumers } = await jetstreamManager(bus.nc);
    await consumers.delete(durable.stream, durable.name);
    release();
    await until(() => !consumer.bound(), 20_000);
    await provisionDurable(bus, durable);
    await until(() => started.length === 2, 20_000);
    expect(started).toEqual(['one', 'one']);
  });

  test('finishes what is in hand when it stops and leaves the rest to others', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const done: string[] = [];
    let started = 0;
    const consumer = runConsumer(bus, {
      durable,
      concurrency: 1,
      handle: async (delivery) => {
        started += 1;
        await sleep(300);
        done.push(textOf(delivery));
        return ack;
      },
    });
    await send(session, 'first', 'second', 'third');
    await until(() => started === 1);
    await consumer.stop();
    const finished = [...done];
    expect(finished.length).toBeGreaterThanOrEqual(1);
    expect(started).toBe(finished.length);
    await send(session, 'after');
    const rest: string[] = [];
    start(bus, {
      durable,
      handle: async (delivery) => {
        rest.push(textOf(delivery));
        return ack;
      },
    });
    await until(() => finished.length + rest.length === 4);
    expect([...finished, ...rest]).toEqual(['first', 'second', 'third', 'after']);
  });

  test('goes on after the server was killed and came back', async () => {
    const session = newSession();
    const durable = durableOf(session);
    // A server that is killed forgets acks that it had taken: what was acked may come again after the ack wait.
    await provisionDurable(bus, durable, { ackWaitMs: 2000 });
    const seen: string[] = [];
    const consumer = start(bus, {
      durable,
      handle: async (delivery) => {
        seen.push(textOf(delivery));
        return ack;
      },
    });
    await send(session, 'before');
    await until(() => seen.length === 1);
    await house.nats.kill();
    await until(() => !consumer.bound());
    await house.nats.restart();
    await send(session, 'after');
    await until(() => seen.includes('after'), 25_000);
    expect(consumer.bound()).toBe(true);
    await until(async () => (await pendingOf(durable)).unacked === 0);
  });

  test('hands a journal to one handler at a time under load', async () => {
    const session = newSession();
    const durable = durableOf(session);
    await provisionDurable(bus, durable);
    const seqs: number[] = [];
    start(bus, {
      durable,
      concurrency: 16,
      handle: async (delivery) => {
        seqs.push(delivery.seq);
        return ack;
      },
    });
    let tail = EMPTY_LANE;
    for (let n = 0; n < 200; n++) {
      const result = await append(bus, gateway, journal(session), tail, retrying(`${n}`));
      if (!result.ok) throw new Error('conflict');
      tail = result.tail;
    }
    await until(() => seqs.length >= 200);
    expect(seqs).toEqual([...new Set(seqs)].sort((x, y) => x - y));
  });
});
