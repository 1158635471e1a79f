import { z } from 'zod';
import { artifactUriSchema, sha256Schema, tokenSchema } from '../ids.ts';

/** `normal` asks before writes; `auto-edit` allows writes inside the workspace; `read-only` shows no tool that writes; `replay` runs nothing. */
export const modeSchema = z.enum(['normal', 'read-only', 'auto-edit', 'replay']);
export type Mode = z.infer<typeof modeSchema>;

/** Limits of one run. An absent limit does not apply. Waiting for people does not use up `maxWallMs`. */
export const budgetsSchema = z.object({
  maxTurns: z.int().positive().optional(),
  /** Input and output tokens of all attempts together. */
  maxTokens: z.int().positive().optional(),
  maxCostUsd: z.number().positive().optional(),
  maxWallMs: z.int().positive().optional(),
});
export type Budgets = z.infer<typeof budgetsSchema>;

/** Which model answers. `scripted` plays `script`; `anthropic` is the Messages API. */
export const modelChoiceSchema = z.object({
  provider: tokenSchema,
  model: z.string().min(1),
  /** The script of the `scripted` provider. */
  script: artifactUriSchema.optional(),
  /** Upper limit of output tokens of one answer. Default 8192. */
  maxOutputTokens: z.int().positive().optional(),
});
export type ModelChoice = z.infer<typeof modelChoiceSchema>;

/** A policy bundle of a layer that travels with the session, by digest of its bytes (an artifact). */
export const policyDigestsSchema = z.object({
  user: sha256Schema.optional(),
  project: sha256Schema.optional(),
});

/** A client opened the session. The first one of a session counts, repeats are dropped. */
export const sessionOpenedV1 = z.object({
  /** Absolute path of the workspace as the executors see it. */
  workspace: z.string().min(1),
  mode: modeSchema,
  model: modelChoiceSchema,
  policies: policyDigestsSchema.default({}),
  budgets: budgetsSchema.default({}),
  /** Standing instructions for the model. */
  instructions: z.string().optional(),
  /** Who opened it: the person that later answers are checked against. */
  person: z.string().min(1),
  /** Where a fork or a replay comes from. */
  origin: z
    .object({ kind: z.enum(['fork', 'replay']), session: tokenSchema, throughSeq: z.int().positive() })
    .optional(),
});
export type SessionOpenedV1 = z.infer<typeof sessionOpenedV1>;

/** A client closed the session: no further run starts. */
export const sessionClosedV1 = z.object({ reason: z.string() });
export type SessionClosedV1 = z.infer<typeof sessionClosedV1>;
