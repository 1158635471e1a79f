import { EMPTY_LANE, type LaneTail, type LogEntry, laneFilter } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import type { Verifier } from '../decode.ts';
import { RetryableError } from '../errors.ts';
import type { AnyDraft, Writer } from '../writer.ts';
import { type AppendAddress, type Appended, append } from './append.ts';
import { readRange } from './read.ts';

/** What to do next, given all that the lane holds. */
export type NextStep = { readonly draft: AnyDraft } | { readonly stop: string };

export type Settled = Appended | { readonly ok: false; readonly stop: string };

/** The place after the last of a lane's entries, strays included; `EMPTY_LANE` for none. */
export function laneTail(entries: readonly LogEntry[]): LaneTail {
  const last = entries.at(-1);
  return last ? { seq: last.seq, hash: last.hash } : EMPTY_LANE;
}

/** How often a lane is read again before its writers are told to come back later. */
const ROUNDS = 50;

/**
 * Reads a lane, decides, appends; on a conflict again, until it is appended or the decision is to stop.
 * @param decide called with the lane's entries in order, at least once, again after each conflict; may be async
 * @throws RetryableError `lane_conflict` after 50 conflicts, and what `append` and `readRange` throw
 */
// biome-ignore lint/complexity/useMaxParams: as append, and whose signatures count.
export async function appendSettled(
  bus: Bus,
  writer: Writer,
  lane: AppendAddress,
  decide: (entries: LogEntry[]) => NextStep | Promise<NextStep>,
  verifier?: Verifier,
): Promise<Settled> {
  for (let round = 0; round < ROUNDS; round++) {
    // After a conflict a lagging follower could show the same old lane for ever.
    const range = { filter: laneFilter(lane), fromSeq: 1, leader: round > 0 };
    const entries = await readRange(bus, range, verifier);
    const next = await decide(entries);
    if ('stop' in next) return { ok: false, stop: next.stop };
    const result = await append(bus, writer, lane, laneTail(entries), next.draft);
    if (result.ok) return result;
  }
  throw new RetryableError(
    'lane_conflict',
    `${laneFilter(lane)} changed ${ROUNDS} times while it was decided upon`,
  );
}
