/** What the shell needs of the world. One implementation speaks to NATS (`house.ts`); the model tests have another. */
import type {
  CancelControlV1,
  ConversationState,
  LaneTail,
  LogEntry,
  Mode,
  StoredEvent,
  TimerAddress,
  VisibleTool,
} from '@interlock/contracts';
import type { AnyDraft, AppendAddress, Clock, Ids, Logger } from '@interlock/kit';
import type { ObserverConfig } from './config.ts';
import type { ObserverMetrics } from './metrics.ts';

export interface SessionRef {
  readonly tenant: string;
  readonly session: string;
}

export type AppendResult =
  | { readonly ok: true; readonly entry: StoredEvent; readonly tail: LaneTail }
  | { readonly ok: false };

/** The log of sessions, read as folds and written by comparison. */
export interface SessionLog {
  /** The fold through at least `seq`. */
  through(ref: SessionRef, seq: number): Promise<ConversationState>;
  /** The fold to the leader's present end. */
  latest(ref: SessionRef): Promise<ConversationState>;
  append(lane: AppendAddress, tail: LaneTail, draft: AnyDraft): Promise<AppendResult>;
  /** Appends to the inbox, without comparison. */
  post(ref: SessionRef, draft: AnyDraft): Promise<void>;
  /** The first event stored on a subject; null for none. */
  first(subject: string): Promise<LogEntry | null>;
  /** The event of a subject at a sequence; null when something else stands there. */
  at(subject: string, seq: number): Promise<LogEntry | null>;
  /** Remembers a delivered entry, to spare a second parse. */
  offer(entry: LogEntry): void;
}

export interface Ports {
  readonly log: SessionLog;
  /** Tools that a model is shown in a mode, a second old at most, sorted by name. */
  readonly tools: (tenant: string, mode: Mode) => Promise<readonly VisibleTool[]>;
  readonly setTimer: (timer: TimerAddress, at: Date) => Promise<void>;
  /** Lossy: whoever hears it stops. */
  readonly sendControl: (ref: SessionRef, control: CancelControlV1) => void;
  /** Whether a renewed lease of a claim is alive. */
  readonly isLeaseAlive: (pool: string, intent: string) => Promise<boolean>;
  /** Stores a text under the address of its hash. */
  readonly storeText: (tenant: string, text: string) => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** The replica, as it signs itself in facts. */
  readonly instance: string;
  readonly config: ObserverConfig;
  readonly metrics: ObserverMetrics;
  readonly logger: Logger;
}

/** The delivery that a step answers: what it names as its cause. */
export interface Cause {
  readonly id: string | undefined;
  readonly traceparent: string | undefined;
}
