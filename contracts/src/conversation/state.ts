/**
 * The state of one session: a fold of its log and of nothing else. Plain JSON, so that equal logs give equal bytes.
 */
import { GENESIS_HASH } from '../envelope.ts';
import type { ModelPart, Stop, Usage, VisibleTool } from '../model/v1.ts';
import type { ObservationPart, ToolObservationV1 } from '../observation/v1.ts';
import type { FinishReason } from '../run/v1.ts';
import type { SessionOpenedV1 } from '../session/v1.ts';
import type { UserMessageV1 } from '../user/v1.ts';

/** The last stored event of a lane, strays included: what the next one chains to. */
export interface LaneTail {
  readonly seq: number;
  readonly hash: string;
}
export const EMPTY_LANE: LaneTail = { seq: 0, hash: GENESIS_HASH };

/** Where a call stands. `declared`: in a model message, its intent not derived yet. */
export type Stage =
  | 'declared'
  | 'proposed'
  | 'validated'
  | 'invalid'
  | 'asked'
  | 'allowed'
  | 'denied'
  | 'cancelled'
  | 'started'
  | 'completed'
  | 'observed';

/** The last event of a lane that counted. */
export interface LaneStep {
  readonly seq: number;
  readonly type: string;
  readonly id: string;
  readonly nonce: string;
}

export interface AskedState {
  readonly id: string;
  readonly seq: number;
  readonly bindingSha256: string;
  readonly expiresAt: string;
  /** The first answer to this very ask; it wins over an expiry when it was stored before it. */
  readonly answer: { readonly seq: number; readonly id: string } | null;
}

export interface CallState {
  readonly intent: string;
  readonly tool: string;
  readonly readOnly: boolean;
  readonly proposer: 'model' | 'person';
  readonly run: string | null;
  readonly turn: number | null;
  readonly stage: Stage;
  readonly tail: LaneTail;
  readonly step: LaneStep | null;
  readonly supersedes: string | null;
  readonly supersededBy: string | null;
  readonly asked: AskedState | null;
  readonly allowed: { readonly seq: number; readonly pool: string; readonly expiresAt: string } | null;
  readonly claim: {
    readonly seq: number;
    readonly pool: string;
    readonly worker: string;
    readonly epoch: number;
    readonly leaseUntil: string;
  } | null;
  readonly observation: {
    readonly seq: number;
    readonly ending: ToolObservationV1['ending'];
    readonly isError: boolean;
    readonly parts: readonly ObservationPart[];
  } | null;
}

/** What the conversation consists of, in the order in which the model gets it. */
export type ConversationEntry =
  | ({ readonly kind: 'user'; readonly seq: number; readonly id: string } & Pick<
      UserMessageV1,
      'text' | 'attachments' | 'person'
    >)
  | {
      readonly kind: 'assistant';
      readonly seq: number;
      readonly run: string;
      readonly turn: number;
      readonly parts: readonly ModelPart[];
      readonly stop: Stop;
    }
  | { readonly kind: 'summary'; readonly seq: number; readonly text: string };
export type UserEntry = Extract<ConversationEntry, { kind: 'user' }>;
export type AssistantEntry = Extract<ConversationEntry, { kind: 'assistant' }>;

/** A `model.requested` that has neither message nor failure. */
export interface OpenRequest {
  readonly id: string;
  readonly seq: number;
  readonly turn: number;
  readonly throughSeq: number;
  readonly contextSnapshotId: string;
  readonly provider: string;
  readonly model: string;
  readonly attempt: { readonly number: number; readonly worker: string } | null;
  /** `model.retrying` events of this request. */
  readonly retries: number;
}

export interface RunState {
  readonly id: string;
  readonly number: number;
  readonly startedSeq: number;
  readonly startedAt: string;
  /** Last turn requested; 0 before the first. */
  readonly turn: number;
  readonly usage: Usage;
  readonly costUsd: number | null;
  /** Answers cut by the token limit in a row, each with calls in it. */
  readonly cutInRow: number;
  readonly compactions: number;
  /** How the last request of this run ended; null while one is open or before the first. */
  readonly last:
    | { readonly kind: 'message'; readonly seq: number; readonly id: string; readonly stop: Stop }
    | {
        readonly kind: 'failed';
        readonly seq: number;
        readonly id: string;
        readonly category: string;
        readonly message: string;
      }
    | null;
  readonly cancel: CancelState | null;
  /** Time spent waiting for people: finished waits, and the start of the present one. */
  readonly waitedMs: number;
  readonly waitingSince: string | null;
}

export interface CancelState {
  readonly seq: number;
  readonly id: string;
  readonly reason: 'person' | 'budget';
  readonly by: string;
}

export type SessionStatus =
  | 'idle'
  | 'running'
  | 'waiting_for_tool'
  | 'waiting_for_approval'
  | 'completed'
  | 'failed';

export interface ConversationState {
  readonly tenant: string;
  readonly session: string;
  /** Everything of the session up to here is in this state. */
  readonly throughSeq: number;
  readonly opened: (SessionOpenedV1 & { readonly seq: number; readonly at: string }) | null;
  readonly closed: boolean;
  readonly status: SessionStatus;
  /** Tail of the session journal and its last step that counted. */
  readonly journal: { readonly tail: LaneTail; readonly step: LaneStep | null };
  readonly run: RunState | null;
  readonly lastRun: {
    readonly id: string;
    readonly number: number;
    readonly reason: FinishReason;
    readonly seq: number;
  } | null;
  readonly request: OpenRequest | null;
  /** Tools as the last request showed them. */
  readonly tools: readonly VisibleTool[];
  /** Turns of the script that are left; null before the scripted provider's first answer. */
  readonly scriptUnused: readonly number[] | null;
  /** Entries that a request has taken, or that the model made. */
  readonly entries: readonly ConversationEntry[];
  /** What each compaction found: the conversation as it was before it. */
  readonly compacted: readonly { readonly seq: number; readonly entries: readonly ConversationEntry[] }[];
  /** Messages of people that no request has taken yet. */
  readonly pending: readonly UserEntry[];
  /** A cancel that came before the run of the pending messages began. */
  readonly pendingCancel: CancelState | null;
  readonly calls: Readonly<Record<string, CallState>>;
  /** Tails of intent lanes that hold nothing legal. */
  readonly strayTails: Readonly<Record<string, LaneTail>>;
  readonly baselines: Readonly<Record<string, Baseline>>;
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly lastError: { readonly seq: number; readonly code: string; readonly message: string } | null;
  /** Ids of inbox events seen: repeats are dropped by them. */
  readonly inbox: Readonly<Record<string, number>>;
  /** Events that took no part: strays and unreadable ones. */
  readonly skipped: number;
}

/** A file as the session last saw it. */
export interface Baseline {
  readonly sha256: string;
  readonly range: { readonly from: number; readonly to: number } | null;
  readonly seq: number;
}

export const NO_USAGE: Usage = { inputUncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: null };

export function initialState(tenant: string, session: string): ConversationState {
  return {
    tenant,
    session,
    throughSeq: 0,
    opened: null,
    closed: false,
    status: 'idle',
    journal: { tail: EMPTY_LANE, step: null },
    run: null,
    lastRun: null,
    request: null,
    tools: [],
    scriptUnused: null,
    entries: [],
    compacted: [],
    pending: [],
    pendingCancel: null,
    calls: {},
    strayTails: {},
    baselines: {},
    usage: NO_USAGE,
    costUsd: null,
    lastError: null,
    inbox: {},
    skipped: 0,
  };
}

export function addUsage(total: Usage, more: Usage | null): Usage {
  if (!more) return total;
  return {
    inputUncached: total.inputUncached + more.inputUncached,
    cacheRead: total.cacheRead + more.cacheRead,
    cacheWrite: total.cacheWrite + more.cacheWrite,
    output: total.output + more.output,
    reasoning: more.reasoning === null ? total.reasoning : (total.reasoning ?? 0) + more.reasoning,
  };
}

/** Null is "unknown", which adds nothing and stays unknown until a figure comes. */
export function addCost(total: number | null, more: number | null): number | null {
  return more === null ? total : (total ?? 0) + more;
}

export function totalTokens(usage: Usage): number {
  return usage.inputUncached + usage.cacheRead + usage.cacheWrite + usage.output;
}
