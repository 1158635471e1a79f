/** What the event-store has put aside. */
import { isEvent, LOCAL_TENANT, laneFilter, type StoredEventOf, SYSTEM_SESSION } from '@interlock/contracts';
import { type Bus, readRange } from '@interlock/kit';
import { expect } from 'vitest';
import type { TestHouse } from '../harness/house.ts';
import { assertSound, type Played } from '../harness/session.ts';
import { consumerOf, isIdle } from './consumers.ts';

type Quarantined = StoredEventOf<'event.quarantined'>['data'];

export class Quarantine {
  readonly #reader: Bus;

  constructor(reader: Bus) {
    this.#reader = reader;
  }

  async #all(): Promise<readonly Quarantined[]> {
    const filter = laneFilter({ tenant: LOCAL_TENANT, session: SYSTEM_SESSION, lane: 'sys' });
    const entries = await readRange(this.#reader, { filter, fromSeq: 1, leader: true });
    return entries.flatMap((entry) => (isEvent(entry, 'event.quarantined') ? [entry.data] : []));
  }

  /** The record of the stray at a sequence, once it is there. */
  async recordOf(seq: number): Promise<Quarantined> {
    const find = async (): Promise<readonly Quarantined[]> =>
      (await this.#all()).filter((record) => record.seq === seq);
    await expect.poll(find, { timeout: 20_000 }).toHaveLength(1);
    const [found] = await find();
    if (!found) throw new Error(`the record of ${seq} is gone`);
    return found;
  }

  /** Sequences of a session that were put aside, once everything stored so far has been judged. */
  async seqsOf(session: string): Promise<readonly number[]> {
    const isJudged = async (): Promise<boolean> => isIdle(await consumerOf(this.#reader, 'event-store'));
    await expect.poll(isJudged, { timeout: 20_000 }).toBe(true);
    const own = (await this.#all()).filter((record) => record.session === session);
    return own.map(({ seq }) => seq).sort((a, b) => a - b);
  }

  /** The play's invariants, and exactly these strays. */
  async assertSoundBut(played: Played, strays: readonly number[]): Promise<void> {
    expect(await this.seqsOf(played.session.id)).toEqual(strays);
    assertSound(played, { finished: true, strays: new Set(strays) });
  }
}

export async function openQuarantine(house: TestHouse): Promise<Quarantine> {
  return new Quarantine(await house.as('event-store'));
}
