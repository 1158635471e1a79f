import { z } from 'zod';
import { codesOf } from '../errors.ts';
import { sha256Schema, tokenSchema } from '../ids.ts';
import { assessmentSchema, baselineSchema, sandboxLevelSchema } from '../tools/v1.ts';

/** A proposal, never a permit: the input is unknown until it is validated. */
export const toolIntentV1 = z.object({
  tool: z.string(),
  /** The arguments as proposed; the raw text where they were not JSON (`inputFormat: text`). */
  rawInput: z.unknown(),
  inputFormat: z.enum(['json', 'text']),
  reason: z.string().optional(),
  expect: z.string().optional(),
  /** Who proposed it. A `person` proposes by an edit or an undo. */
  proposer: z.enum(['model', 'person']),
  provider: tokenSchema.optional(),
  model: z.string().optional(),
  contextSnapshotId: sha256Schema.optional(),
  providerRef: z.string().optional(),
  /** The intent in whose place this one stands, and the answer that put it there. */
  supersedes: z.object({ intent: tokenSchema, answerId: z.string(), person: z.string() }).optional(),
});
export type ToolIntentV1 = z.infer<typeof toolIntentV1>;

/** The input is well formed and makes sense in the state of the session and of the files. Not a permit. */
export const toolValidatedV1 = z.object({
  tool: tokenSchema,
  pool: tokenSchema,
  toolDigest: sha256Schema,
  /** The normalised input: what would run. */
  input: z.unknown(),
  /** SHA-256 of the canonical JSON of `input`. */
  inputSha256: sha256Schema,
  /** What normalisation changed. */
  changes: z.array(z.object({ path: z.string(), why: z.string() })),
  assessment: assessmentSchema,
  /** Files the call rests on, as they are now. */
  baselines: z.array(baselineSchema),
  /** Sandbox that the host of the pool has: `A` full, `B` shared /proc, `C` Landlock only, `D` none. */
  sandboxLevel: sandboxLevelSchema,
});
export type ToolValidatedV1 = z.infer<typeof toolValidatedV1>;

/** One thing that is wrong with a call. */
export const validationErrorSchema = z.object({
  /** JSON pointer into the input; empty for the whole. */
  path: z.string(),
  code: z.enum(codesOf('validation')),
  message: z.string(),
  /** A sentence that tells the model what to do instead. */
  advice: z.string(),
});
export type ValidationError = z.infer<typeof validationErrorSchema>;

/** The call is refused before any decision; nothing ran. */
export const toolValidationFailedV1 = z.object({ errors: z.array(validationErrorSchema).min(1) });
export type ToolValidationFailedV1 = z.infer<typeof toolValidationFailedV1>;

/** An unclaimed call was withdrawn; nothing ran. The first event of its lane when the intent was never derived. */
export const toolCancelledV1 = z.object({
  reason: z.enum(['run_cancelled', 'expired', 'superseded']),
  detail: z.string().optional(),
});
export type ToolCancelledV1 = z.infer<typeof toolCancelledV1>;
