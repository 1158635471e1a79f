import { z } from 'zod';
import { codesOf } from '../errors.ts';
import { sha256Schema, tokenSchema } from '../ids.ts';

/** Tokens, cache classes apart. Sums of attempts; `null` in a message means the provider did not say. */
export const usageSchema = z.object({
  inputUncached: z.int().nonnegative(),
  cacheRead: z.int().nonnegative(),
  cacheWrite: z.int().nonnegative(),
  /** Includes reasoning. */
  output: z.int().nonnegative(),
  reasoning: z.int().nonnegative().nullable(),
});
export type Usage = z.infer<typeof usageSchema>;

/** Provider-neutral reasons why a model stopped. */
export const stopSchema = z.enum([
  'end_turn',
  'tool_calls',
  'max_tokens',
  'stop_sequence',
  'refusal',
  'content_filter',
  'pause',
  'compaction',
  'context_window',
  'unknown',
]);
export type Stop = z.infer<typeof stopSchema>;

/** A tool as it was shown to the model. */
export const visibleToolSchema = z.object({
  name: tokenSchema,
  digest: sha256Schema,
  pool: tokenSchema,
  /** Calls of read-only tools run side by side; every other call waits for those before it. */
  readOnly: z.boolean(),
});
export type VisibleTool = z.infer<typeof visibleToolSchema>;

/** The observer asks for a model's answer. It names the context, it does not carry it: the gateway folds to `throughSeq`. */
export const modelRequestedV1 = z.object({
  provider: tokenSchema,
  model: z.string().min(1),
  /** SHA-256 over the hashes of the parts of the request. */
  contextSnapshotId: sha256Schema,
  /** The context is what the log says up to here. */
  throughSeq: z.int().nonnegative(),
  /** Version of the projection that made the context. */
  projection: z.string().min(1),
  tools: z.array(visibleToolSchema),
  /** `next_turn`, or the same turn again after a pause or a compaction. */
  because: z.enum(['next_turn', 'pause', 'compaction']),
  budgetLeft: z.object({
    turns: z.int().nonnegative().nullable(),
    tokens: z.int().nonnegative().nullable(),
    costUsd: z.number().nonnegative().nullable(),
  }),
});
export type ModelRequestedV1 = z.infer<typeof modelRequestedV1>;

/** The gateway claimed an attempt; recorded before the call is made. */
export const modelAttemptStartedV1 = z.object({
  /** Number of the attempt for this request, from 1. */
  attempt: z.int().positive(),
  /** Instance that makes the call. */
  worker: z.string().min(1),
  provider: tokenSchema,
  model: z.string().min(1),
});
export type ModelAttemptStartedV1 = z.infer<typeof modelAttemptStartedV1>;

export const modelFailureSchema = z.enum(codesOf('model'));

/** An attempt failed and another will follow after `waitMs`. */
export const modelRetryingV1 = z.object({
  attempt: z.int().positive(),
  category: modelFailureSchema,
  message: z.string(),
  waitMs: z.int().nonnegative(),
  usage: usageSchema.nullable(),
});
export type ModelRetryingV1 = z.infer<typeof modelRetryingV1>;

/** The request has no answer and will get none. */
export const modelFailedV1 = z.object({
  category: modelFailureSchema,
  message: z.string(),
  /** Attempts made. */
  attempts: z.int().nonnegative(),
  /** Seconds the provider asked to wait, where it did, in milliseconds. */
  retryAfterMs: z.int().nonnegative().optional(),
  /** Text that had arrived. */
  partial: z.string().default(''),
  usage: usageSchema.nullable(),
  costUsd: z.number().nonnegative().nullable(),
  /** Scripted provider only: the turns of the script not used so far. */
  scriptUnused: z.array(z.int().nonnegative()).optional(),
});
export type ModelFailedV1 = z.infer<typeof modelFailedV1>;

/** A provider's private bytes that must go back verbatim, and to the same issuer only. Nobody but its adapter opens it. */
export const carrySchema = z.object({
  /** API, endpoint and model that made it. */
  issuer: z.string().min(1),
  value: z.unknown(),
});

export const modelPartSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), carry: carrySchema.optional() }),
  z.object({ type: z.literal('reasoning'), text: z.string(), carry: carrySchema.optional() }),
  z.object({ type: z.literal('refusal'), text: z.string() }),
  z.object({
    type: z.literal('tool_call'),
    /** Our id of the intent this call becomes. */
    intent: tokenSchema,
    tool: z.string(),
    /** The arguments; the raw text where they were not JSON. */
    rawInput: z.unknown(),
    inputFormat: z.enum(['json', 'text']),
    /** What the model says the call is for. Shown, never a ground for a decision. */
    reason: z.string().optional(),
    /** What result the model expects. */
    expect: z.string().optional(),
    /** The provider's own id of the call. */
    providerRef: z.string(),
    carry: carrySchema.optional(),
  }),
  z.object({
    /** A call of a cut answer: it never becomes an intent and is answered as cut. */
    type: z.literal('rejected_call'),
    intent: tokenSchema,
    tool: z.string(),
    raw: z.string(),
    why: z.string(),
    providerRef: z.string(),
  }),
  z.object({
    /** Ran at the provider, or is the provider's own affair. */
    type: z.literal('provider'),
    kind: z.string(),
    carry: carrySchema,
  }),
]);
export type ModelPart = z.infer<typeof modelPartSchema>;
export type ToolCallPart = Extract<ModelPart, { type: 'tool_call' }>;

/** The model's whole answer. Intents derive from it and from nothing else. */
export const modelMessageV1 = z.object({
  attempt: z.int().positive(),
  provider: tokenSchema,
  /** The model that really answered. */
  model: z.string().min(1),
  contextSnapshotId: sha256Schema,
  parts: z.array(modelPartSchema),
  stop: stopSchema,
  nativeStop: z.string().nullable(),
  usage: usageSchema.nullable(),
  costUsd: z.number().nonnegative().nullable(),
  latencyMs: z.number().nonnegative(),
  requestId: z.string().nullable(),
  /** Scripted provider only: the turns of the script not used so far. */
  scriptUnused: z.array(z.int().nonnegative()).optional(),
});
export type ModelMessageV1 = z.infer<typeof modelMessageV1>;
