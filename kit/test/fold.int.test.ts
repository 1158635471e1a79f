import { EMPTY_LANE, eventSubject, type LaneTail, type LogEntry, laneFilter } from '@interlock/contracts';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { append, appendInbox, type Bus, FoldCache, readFirst, readLast, readRange } from '../src/index.ts';
import { retrying, userMessage } from './drafts.ts';
import { filterOf, type House, journal, newSession, startHouse, writerOf } from './house.ts';

let house: House;
let bus: Bus;
const gateway = writerOf('provider-gateway');

beforeAll(async () => {
  house = await startHouse();
  bus = await house.bus();
});
afterAll(() => house.stop());

/** A bus that counts what it asks. */
function counting(): { bus: Bus; counts: { batches: number; requests: number } } {
  const counts = { batches: 0, requests: 0 };
  const counted: Bus = {
    ...bus,
    replies: {
      open(receive) {
        counts.batches += 1;
        return bus.replies.open(receive);
      },
    },
    request(...args) {
      counts.requests += 1;
      return bus.request(...args);
    },
  };
  return { bus: counted, counts };
}

interface Log {
  readonly throughSeq: number;
  readonly seqs: readonly number[];
}

function foldOf(over: Bus): FoldCache<Log> {
  return new FoldCache<Log>({
    bus: over,
    initial: () => ({ throughSeq: 0, seqs: [] }),
    evolve: (state, entry) => ({ throughSeq: entry.seq, seqs: [...state.seqs, entry.seq] }),
    filter: (_tenant, session) => filterOf(session),
  });
}

/** A session with events of others between its own. */
async function fill(session: string, count: number): Promise<number[]> {
  const seqs: number[] = [];
  let tail: LaneTail = EMPTY_LANE;
  const other = newSession();
  for (let n = 0; n < count; n++) {
    const result = await append(bus, gateway, journal(session), tail, retrying(`${n}`));
    if (!result.ok) throw new Error('conflict');
    tail = result.tail;
    seqs.push(tail.seq);
    await appendInbox(bus, gateway, { tenant: 'local', session: other }, userMessage(`${n}`));
  }
  return seqs;
}

describe('readRange', () => {
  test('reads many in one request', async () => {
    const session = newSession();
    const seqs = await fill(session, 40);
    const { bus: counted, counts } = counting();
    const entries = await readRange(counted, { filter: filterOf(session), fromSeq: 1 });
    expect(entries.map(({ seq }) => seq)).toEqual(seqs);
    expect(counts).toEqual({ batches: 1, requests: 0 });
  });

  test('keeps to its bounds', async () => {
    const session = newSession();
    const seqs = await fill(session, 10);
    const read = async (range: object): Promise<number[]> =>
      (await readRange(bus, { filter: filterOf(session), fromSeq: 1, ...range })).map(({ seq }) => seq);
    expect(await read({ fromSeq: seqs[3], throughSeq: seqs[6] })).toEqual(seqs.slice(3, 7));
    expect(await read({ fromSeq: (seqs[3] ?? 0) + 1, limit: 2 })).toEqual(seqs.slice(4, 6));
    expect(await read({ throughSeq: (seqs[6] ?? 0) + 1 })).toEqual(seqs.slice(0, 7));
    expect(await read({ leader: true })).toEqual(seqs);
    expect(await read({ fromSeq: 1_000_000 })).toEqual([]);
    expect(await readRange(bus, { filter: filterOf('nobody'), fromSeq: 1 })).toEqual([]);
    expect(await readRange(bus, { filter: filterOf('nobody'), fromSeq: 1, leader: true })).toEqual([]);
  });

  test('reads more than one batch holds', async () => {
    const session = newSession();
    const subject = eventSubject({ tenant: 'local', session, lane: 'x', type: 'job.ended' });
    const all = Array.from({ length: 2500 }, (_, n) => bus.request(subject, `${n}`, { timeoutMs: 10_000 }));
    await Promise.all(all);
    const entries = await readRange(bus, { filter: filterOf(session), fromSeq: 1 });
    expect(entries).toHaveLength(2500);
    expect(entries.every(({ type }) => type === 'unreadable')).toBe(true);
  });

  test('takes no stored status line or header of the server for its own', async () => {
    const session = newSession();
    const subject = eventSubject({ tenant: 'local', session, lane: 'x', type: 'job.ended' });
    const head = headers(204, 'EOB');
    head.set('Nats-Num-Pending', '0');
    head.set('Nats-Sequence', '1');
    head.set('Nats-Subject', 'ev.v1.local.other.s.run.started');
    const { seq } = (await bus.request(subject, 'x', { timeoutMs: 5000, headers: head })).json<{
      seq: number;
    }>();
    const seqs = await fill(session, 2);
    const entries = await readRange(bus, { filter: filterOf(session), fromSeq: 1 });
    expect(entries.map((entry) => entry.seq)).toEqual([seq, ...seqs]);
    expect(entries[0]?.subject).toBe(subject);
  });

  test('finds first and last', async () => {
    const session = newSession();
    const seqs = await fill(session, 3);
    expect(await readFirst(bus, filterOf(session))).toMatchObject({ seq: seqs[0] });
    expect(await readLast(bus, laneFilter(journal(session)))).toMatchObject({ seq: seqs[2] });
    expect(await readFirst(bus, filterOf('nobody'))).toBeNull();
    expect(await readLast(bus, filterOf('nobody'))).toBeNull();
  });
});

describe('FoldCache', () => {
  test('folds in parts to what it folds at once', async () => {
    const session = newSession();
    const seqs = await fill(session, 12);
    const stepwise = foldOf(bus);
    for (const seq of seqs) {
      const state = await stepwise.through('local', session, seq);
      expect(state.throughSeq).toBe(seq);
      expect(state).toEqual(await foldOf(bus).exactly('local', session, seq));
    }
    expect(await foldOf(bus).latest('local', session)).toEqual(stepwise.peek('local', session));
  });

  test('folds to exactly a sequence, also one that it is past', async () => {
    const session = newSession();
    const seqs = await fill(session, 8);
    const cache = foldOf(bus);
    const late = await cache.latest('local', session);
    expect(late.seqs).toEqual(seqs);
    expect((await cache.exactly('local', session, seqs[4] ?? 0)).seqs).toEqual(seqs.slice(0, 5));
    // A sequence of somebody else's event between two of this session.
    const between = (seqs[4] ?? 0) + 1;
    expect(await cache.exactly('local', session, between)).toEqual({
      throughSeq: between,
      seqs: seqs.slice(0, 5),
    });
    expect(cache.peek('local', session)).toEqual(late);
  });

  test('makes one read for those who ask at once', async () => {
    const session = newSession();
    const seqs = await fill(session, 6);
    const { bus: counted, counts } = counting();
    const cache = foldOf(counted);
    const states = await Promise.all(
      Array.from({ length: 20 }, () => cache.through('local', session, seqs[5] ?? 0)),
    );
    expect(new Set(states).size).toBe(1);
    expect(counts).toEqual({ batches: 1, requests: 0 });
    await cache.through('local', session, seqs[2] ?? 0);
    expect(counts.batches).toBe(1);
  });

  test('is through a sequence that is another session’s', async () => {
    const session = newSession();
    const seqs = await fill(session, 3);
    const foreign = (seqs[2] ?? 0) + 1;
    const cache = foldOf(bus);
    const state = await cache.through('local', session, foreign);
    expect(state).toEqual({ throughSeq: foreign, seqs });
    const more = await append(bus, gateway, journal(session), await tailOf(session), retrying('more'));
    expect(more.ok).toBe(true);
    expect((await cache.latest('local', session)).seqs).toHaveLength(4);
  });

  test('does not parse again what it was offered', async () => {
    const session = newSession();
    const seqs = await fill(session, 2);
    const [first] = await readRange(bus, { filter: filterOf(session), fromSeq: 1, limit: 1 });
    const seen: LogEntry[] = [];
    const cache = new FoldCache<Log>({
      bus,
      initial: () => ({ throughSeq: 0, seqs: [] }),
      evolve: (state, entry) => {
        seen.push(entry);
        return { throughSeq: entry.seq, seqs: [...state.seqs, entry.seq] };
      },
      filter: (_tenant, id) => filterOf(id),
    });
    if (!first) throw new Error('nothing stored');
    cache.offer(first);
    expect((await cache.latest('local', session)).seqs).toEqual(seqs);
    expect(seen[0]).toBe(first);
  });

  test('forgets the session unused longest', async () => {
    const cache = new FoldCache<Log>({
      bus,
      initial: () => ({ throughSeq: 0, seqs: [] }),
      evolve: (state, entry) => ({ throughSeq: entry.seq, seqs: [...state.seqs, entry.seq] }),
      filter: (_tenant, session) => filterOf(session),
      maxSessions: 2,
    });
    for (const session of ['a', 'b', 'a', 'c']) await cache.latest('local', session);
    expect(cache.peek('local', 'b')).toBeUndefined();
    expect(cache.peek('local', 'a')).toBeDefined();
  });

  test('is as it was after a read that failed', async () => {
    const session = newSession();
    const seqs = await fill(session, 2);
    let broken = true;
    const flaky: Bus = {
      ...bus,
      whenConnected: async () => false,
      connected: () => !broken,
    };
    const cache = foldOf(flaky);
    await expect(cache.through('local', session, seqs[1] ?? 0)).rejects.toThrow();
    broken = false;
    expect((await cache.through('local', session, seqs[1] ?? 0)).seqs).toEqual(seqs);
  });
});

async function tailOf(session: string): Promise<LaneTail> {
  const last = await readLast(bus, laneFilter(journal(session)));
  return last ? { seq: last.seq, hash: last.hash } : EMPTY_LANE;
}
