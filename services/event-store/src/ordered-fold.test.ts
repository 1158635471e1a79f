import type { LogEntry } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { DeliveryWindow, type FoldKey, OrderedFold } from './ordered-fold.ts';

interface Seen {
  readonly throughSeq: number;
  readonly seqs: readonly number[];
}
const keyOf = (session: string): FoldKey => ({ tenant: 'local', session });
const entryAt = (seq: number): LogEntry => ({
  type: 'unreadable',
  seq,
  subject: 'ev',
  hash: '',
  code: 'unreadable_event',
  reason: '',
});

/** A log of session names by sequence from 1, and a fold over it that counts its reads. */
function given(log: readonly string[], options: { maxKept?: number; failing?: Set<number> } = {}) {
  const window = new DeliveryWindow();
  const reads: string[] = [];
  const fold = new OrderedFold<Seen>({
    window,
    initial: () => ({ throughSeq: 0, seqs: [] }),
    evolve: (state, entry) => ({ throughSeq: entry.seq, seqs: [...state.seqs, entry.seq] }),
    read: async ({ session }, fromSeq, throughSeq) => {
      if (options.failing?.delete(throughSeq)) throw new Error('no answer');
      reads.push(`${session} ${fromSeq}-${throughSeq}`);
      return log.flatMap((name, at) => {
        const seq = at + 1;
        return name === session && seq >= fromSeq && seq <= throughSeq ? [entryAt(seq)] : [];
      });
    },
    ...options,
  });
  /** What is right: every entry of the session before this one. */
  const before = (seq: number): number[] =>
    log.flatMap((name, at) => (name === log[seq - 1] && at + 1 < seq ? [at + 1] : []));
  const deliver = async (seq: number): Promise<readonly number[]> => {
    window.note(seq);
    return (await fold.step(keyOf(log[seq - 1] ?? ''), entryAt(seq))).seqs;
  };
  return { deliver, before, reads };
}

describe('folding from deliveries', () => {
  test('in order from the start: no read at all', async () => {
    const log = ['a', 'b', 'a', 'a', 'b'];
    const { deliver, before, reads } = given(log);
    for (let seq = 1; seq <= log.length; seq++) expect(await deliver(seq)).toEqual(before(seq));
    expect(reads).toEqual([]);
  });

  test('after a restart: one read per session, then none', async () => {
    const log = ['a', 'b', 'a', 'a', 'b', 'a', 'b'];
    const { deliver, before, reads } = given(log);
    for (const seq of [4, 5, 6, 7]) expect(await deliver(seq)).toEqual(before(seq));
    expect(reads).toEqual(['a 1-3', 'b 1-4']);
  });

  test('what another replica took is read', async () => {
    const log = ['a', 'a', 'a', 'b', 'a'];
    const { deliver, before, reads } = given(log);
    for (const seq of [1, 3, 4, 5]) expect(await deliver(seq)).toEqual(before(seq));
    expect(reads).toEqual(['a 2-2', 'b 1-3']);
  });

  test('a redelivery is judged in the state before it and changes nothing', async () => {
    const log = ['a', 'a', 'a', 'a'];
    const { deliver, before } = given(log);
    for (const seq of [1, 2, 3, 2, 1, 4]) expect(await deliver(seq)).toEqual(before(seq));
  });

  test('O3: an entry whose read failed is never skipped', async () => {
    const log = ['x', 'x', 'a', 'a', 'a', 'a', 'a', 'a'];
    const { deliver, before } = given(log, { failing: new Set([3, 4]) });
    // 4 and 5 fail when they first come; 4 comes again after 5 failed too.
    await expect(deliver(4)).rejects.toThrow();
    await expect(deliver(5)).rejects.toThrow();
    for (const seq of [4, 6, 5, 7, 8]) expect(await deliver(seq)).toEqual(before(seq));
  });

  test('a session that was let go is read again', async () => {
    const log = ['a', 'b', 'c', 'a', 'b', 'c', 'a'];
    const { deliver, before } = given(log, { maxKept: 2 });
    for (let seq = 1; seq <= log.length; seq++) expect(await deliver(seq)).toEqual(before(seq));
  });

  test('any order of deliveries gives the state before each', async () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let run = 0; run < 200; run++) {
      const log = Array.from({ length: 12 }, () => 'abc'[random(3)] ?? 'a');
      const failing = new Set(Array.from({ length: 2 }, () => random(12)));
      const { deliver, before } = given(log, { maxKept: 1 + random(3), failing });
      for (let step = 0, seq = 1; step < 25; step++) {
        try {
          expect(await deliver(seq)).toEqual(before(seq));
        } catch (error) {
          if (!(error instanceof Error) || error.message !== 'no answer') throw error;
        }
        seq = random(4) === 0 ? 1 + random(12) : Math.min(12, seq + 1);
      }
    }
  });
});
