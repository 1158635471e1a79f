/** A log in memory: events chained and placed as the stream would, for the pure core. */
import {
  EMPTY_LANE,
  EVENTS,
  type EventData,
  type EventType,
  eventSubject,
  type LaneTail,
  laneFilter,
  type StoredEventOf,
  toDataSchemaUri,
} from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';

export interface LogOptions {
  readonly intent?: string;
  readonly causationid?: string;
  readonly authenticity?: 'verified' | 'unchecked' | 'forged';
}

export interface MemoryLog {
  readonly entries: StoredEventOf<EventType>[];
  append<Type extends EventType>(
    type: Type,
    data: EventData<Type>,
    options?: LogOptions,
  ): StoredEventOf<Type>;
}

const TENANT = 'local';
const RUN = 'run1';

/** Events of run `run1`, turn 1, of session `s1`. */
export function createLog(session = 's1'): MemoryLog {
  const entries: StoredEventOf<EventType>[] = [];
  const tails = new Map<string, LaneTail>();
  return {
    entries,
    append(type, data, options = {}) {
      const { lane } = EVENTS[type];
      const { intent, causationid, authenticity = 'verified' } = options;
      const place = { tenant: TENANT, session, lane, intent };
      const seq = entries.length + 1;
      const tail = tails.get(laneFilter(place)) ?? EMPTY_LANE;
      const hash = sha256Hex(`${session}.${seq}`);
      const pool = type === 'tool.approval.allowed' ? 'shell' : undefined;
      const subject = eventSubject({ ...place, type, pool });
      const entry = {
        type,
        seq,
        hash,
        subject,
        data,
        authenticity,
        envelope: {
          specversion: '1.0',
          id: idOf(seq),
          type,
          source: 'interlock/test/1',
          time: new Date(Date.UTC(2026, 10, 30, 12, 0, seq)).toISOString(),
          subject,
          datacontenttype: 'application/json',
          dataschema: toDataSchemaUri(type, 1),
          tenant: TENANT,
          session,
          ...(lane === 'u' ? {} : { run: RUN, turn: 1, prevseq: tail.seq, prevhash: tail.hash }),
          ...(intent === undefined ? {} : { intent }),
          ...(causationid === undefined ? {} : { causationid }),
          correlationid: session,
          nonce: `nonce-${seq}`,
          data,
        },
      } as const;
      tails.set(laneFilter(place), { seq, hash });
      entries.push(entry as unknown as StoredEventOf<EventType>);
      return entry as unknown as StoredEventOf<typeof type>;
    },
  };
}

/** Ids that are ULIDs and tell their place. */
function idOf(seq: number): string {
  return `01J${String(seq).padStart(23, '0')}`;
}
