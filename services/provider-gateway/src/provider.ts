/**
 * The port behind which a provider stands. Neutral shapes go in and out; what a provider sends on its wire stays in its
 * file under `providers/`.
 *
 * V1. `stream` yields deltas, then exactly one `message` or `failure`, and ends.
 * V2. An expected failure is a `failure` event. `stream` throws a kit `RetryableError` where something of the house
 *     (an artifact, the registry) cannot be reached now; anything else thrown is a bug.
 * V3. No `message` before the provider's own terminal event; no `tool_call` in an answer that was cut.
 * V4. Once `signal` is aborted the upstream connection closes at once and the last event is a `model_cancelled` failure.
 */
import type {
  ContextPart,
  ErrorCode,
  ModelPart,
  Stop,
  ToolDefinition,
  Usage,
  VisibleTool,
} from '@interlock/contracts';

type Unnamed<Part> = Part extends { intent: string } ? Omit<Part, 'intent'> : Part;
/** A part of an answer; calls have no intent id yet, the gateway gives it. */
export type AnswerPart = Unnamed<ModelPart>;

export const FAILURES = [
  'auth',
  'permission',
  'billing',
  'rate_limit',
  'overloaded',
  'invalid_request',
  'context_window',
  'model_not_found',
  'transport',
  'stream_timeout',
  'stream_truncated',
  'script_no_match',
  'script_invalid',
  'context_mismatch',
  'model_cancelled',
  'internal',
] as const satisfies readonly ErrorCode[];
/** Why a request has no answer. */
export type FailureCategory = (typeof FAILURES)[number];

const RETRYABLE: ReadonlySet<FailureCategory> = new Set([
  'rate_limit',
  'overloaded',
  'transport',
  'stream_timeout',
  'stream_truncated',
  'internal',
]);

/** Whether another attempt may end otherwise, unless the provider says no. */
export function isRetryable(category: FailureCategory): boolean {
  return RETRYABLE.has(category);
}

/** The whole answer. */
export interface Answer {
  readonly type: 'message';
  readonly parts: readonly AnswerPart[];
  readonly stop: Stop;
  /** The provider's own word for `stop`. */
  readonly nativeStop: string | null;
  /** Null where the provider did not say. */
  readonly usage: Usage | null;
  /** Null where no price is known. */
  readonly costUsd: number | null;
  /** The model that really answered. */
  readonly model: string;
  readonly requestId: string | null;
  /** Scripted provider only: turns left after this one. */
  readonly scriptUnused?: readonly number[];
  /** What the provider sent that this gateway does not know, and how often. */
  readonly unknown?: Readonly<Record<string, number>>;
}

/** The attempt has no answer. */
export interface Failure {
  readonly type: 'failure';
  readonly category: FailureCategory;
  readonly message: string;
  readonly retryable: boolean;
  /** How long the provider asks to wait; absent or 0: not said. */
  readonly retryAfterMs?: number;
  /** Visible text that had arrived. */
  readonly partial: string;
  /** What the attempt is charged with: the larger of what was last said and what the text that came makes likely. */
  readonly usage: Usage | null;
  readonly costUsd: number | null;
  readonly scriptUnused?: readonly number[];
}

/** Text as it comes. */
export interface Delta {
  readonly type: 'delta';
  /** Place of its part within the answer as far as it is known. */
  readonly part: number;
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

export type ProviderEvent = Delta | Answer | Failure;

/** What a request asks for. */
export interface ProviderRequest {
  readonly tenant: string;
  readonly model: string;
  /** Upper limit of output tokens. */
  readonly maxOutputTokens: number;
  /** Number of the run within the session. */
  readonly run: number;
  /** Turn of the run, from 1. */
  readonly turn: number;
  /** The projection of the log; the tools part names what may be called. */
  readonly context: readonly ContextPart[];
  /** Definitions of tools by digest, for providers that put them on their wire; what cannot be found is left out. */
  readonly definitions: (tools: readonly VisibleTool[]) => Promise<readonly ToolDefinition[]>;
  /** Scripted provider only. */
  readonly script: {
    /** `artifact://…` of the script; null where the session names none. */
    readonly uri: string | null;
    /** Turns unused when the request was made; null: all. */
    readonly unused: readonly number[] | null;
    /** Candidates that earlier attempts of this request used up. */
    readonly skip: number;
  };
}

export interface Provider {
  /** Name in `model.requested`. */
  readonly name: string;
  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<ProviderEvent>;
}
