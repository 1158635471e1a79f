/**
 * The list of sessions: a fold of what opens, closes and moves them along, over all tenants, read from the stream by
 * subject. Each replica has its own and brings it up to date when it is asked.
 *
 * X1. An index, not the truth: it judges nothing, so a stray may colour a line of the list. The state of a session is
 *     asked of its fold.
 * X2. After `catchUp` everything that the leader had stored before is in it.
 */
import {
  EVENTS,
  type EventType,
  eventFilter,
  type FinishReason,
  type LogEntry,
  type Mode,
  STREAMS,
} from '@interlock/contracts';
import { type Bus, readRange } from '@interlock/kit';
import { lastSequence } from './jetstream-api.ts';

/** One line. */
export interface IndexedSession {
  readonly tenant: string;
  readonly session: string;
  readonly openedSeq: number;
  readonly openedAt: string;
  readonly mode: Mode;
  readonly model: string;
  readonly workspace: string;
  lastAt: string;
  throughSeq: number;
  firstMessage: string;
  /** Turns of the runs that are finished. */
  turns: number;
  runs: number;
  running: boolean;
  lastReason: FinishReason | null;
  /** Intents that a person was asked about and that are not known to be settled. */
  readonly asked: Set<string>;
}

const TYPES = [
  'session.opened',
  'user.message',
  'run.started',
  'run.finished',
  'tool.approval.asked',
] as const satisfies readonly EventType[];

const FILTERS = TYPES.map((type) =>
  eventFilter({ lane: EVENTS[type].lane, tenant: '*', session: '*', intent: '*', type, pool: '*' }),
);

/** Characters of the first message that a list shows. */
const PREVIEW = 200;

export class SessionsIndex {
  readonly #bus: Bus;
  readonly #sessions = new Map<string, IndexedSession>();
  #throughSeq = 0;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Reads what was stored since. Those who ask while it reads share the next reading. */
  catchUp(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#read().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    // The reading under way may have begun before the caller's event was stored.
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.catchUp();
      });
    return this.#next;
  }

  get(tenant: string, session: string): IndexedSession | undefined {
    return this.#sessions.get(`${tenant}.${session}`);
  }

  /** Sessions of a tenant, newest first. */
  list(tenant: string): IndexedSession[] {
    return [...this.#sessions.values()]
      .filter((session) => session.tenant === tenant)
      .sort((a, b) => b.openedSeq - a.openedSeq);
  }

  async #read(): Promise<void> {
    const throughSeq = await lastSequence(this.#bus, STREAMS.events);
    if (throughSeq <= this.#throughSeq) return;
    const fromSeq = this.#throughSeq + 1;
    const found = await Promise.all(
      FILTERS.map((filter) => readRange(this.#bus, { filter, fromSeq, throughSeq })),
    );
    const entries = found.flat().sort((a, b) => a.seq - b.seq);
    for (const entry of entries) indexEntry(this.#sessions, entry);
    this.#throughSeq = throughSeq;
  }
}

/** Folds one entry into the index, in stream order. Total. */
export function indexEntry(sessions: Map<string, IndexedSession>, entry: LogEntry): void {
  if (entry.type === 'unreadable') return;
  const { tenant, session, time } = entry.envelope;
  const key = `${tenant}.${session}`;
  const known = sessions.get(key);
  if (entry.type === 'session.opened') {
    if (known) return;
    const { mode, model, workspace } = entry.data;
    sessions.set(key, {
      tenant,
      session,
      openedSeq: entry.seq,
      openedAt: time,
      mode,
      model: `${model.provider}:${model.model}`,
      workspace,
      lastAt: time,
      throughSeq: entry.seq,
      firstMessage: '',
      turns: 0,
      runs: 0,
      running: false,
      lastReason: null,
      asked: new Set(),
    });
    return;
  }
  if (!known) return;
  known.lastAt = time;
  known.throughSeq = entry.seq;
  switch (entry.type) {
    case 'user.message':
      if (known.firstMessage === '') known.firstMessage = entry.data.text.slice(0, PREVIEW);
      known.running = true;
      break;
    case 'run.started':
      known.runs = entry.data.number;
      known.running = true;
      break;
    case 'run.finished':
      known.turns += entry.data.turns;
      known.running = false;
      known.lastReason = entry.data.reason;
      break;
    case 'tool.approval.asked':
      known.asked.add(entry.envelope.intent ?? '');
      break;
    default:
      break;
  }
}

/** Status of a session that is not running, in the words of the fold. */
export function restingStatus({ lastReason }: Pick<IndexedSession, 'lastReason'>): string {
  if (lastReason === null || lastReason === 'cancelled') return 'idle';
  return lastReason === 'completed' ? 'completed' : 'failed';
}
