import { z } from 'zod';
import { codesOf } from '../errors.ts';
import { artifactRefSchema, artifactUriSchema, instantSchema, sha256Schema, tokenSchema } from '../ids.ts';
import { fileReadSchema, sandboxLevelSchema } from '../tools/v1.ts';

/** The claim: recorded before anything touches the world. Signed. */
export const toolExecutionStartedV1 = z.object({
  pool: tokenSchema,
  worker: z.string().min(1),
  /** 1 for the first claim; a `rerun-safe` call claimed again after a crash counts up. */
  epoch: z.int().positive(),
  /** The first lease. A call that outlives a third of it renews in the `lease` bucket. */
  leaseUntil: instantSchema,
  cwd: z.string(),
  /** Names of the environment variables the call sees; never values. */
  envNames: z.array(z.string()),
  sandboxLevel: sandboxLevelSchema,
  limits: z.object({ timeoutMs: z.int().positive(), outputBytes: z.int().positive() }),
});
export type ToolExecutionStartedV1 = z.infer<typeof toolExecutionStartedV1>;

/** Output of a call as far as it may be shown, with what was left out stated. */
export const outputPartSchema = z.object({
  /** Which output: `stdout`, `stderr`, `content`, or a name of the tool's. */
  channel: z.string(),
  text: z.string(),
  /** Bytes of the full output that `text` leaves out; 0 when it is whole. */
  omittedBytes: z.int().nonnegative(),
  /** The full output, when something was left out. */
  artifact: artifactUriSchema.optional(),
});
export type OutputPart = z.infer<typeof outputPartSchema>;

/** One file that the process tree of the call added, changed or deleted. */
export const fileEffectSchema = z.object({
  path: z.string(),
  change: z.enum(['added', 'changed', 'deleted']),
  before: sha256Schema.nullable(),
  after: sha256Schema.nullable(),
  diff: artifactUriSchema.optional(),
});
export type FileEffect = z.infer<typeof fileEffectSchema>;

export const outcomeSchema = z.enum(['success', 'failed', 'refused', 'indeterminate']);
export type Outcome = z.infer<typeof outcomeSchema>;

/** What the call did. Signed. A `refused` one has no claim: nothing ran. */
export const toolExecutionCompletedV1 = z.object({
  pool: tokenSchema,
  tool: z.string(),
  outcome: outcomeSchema,
  /** Why it is not a success. */
  code: z.enum(codesOf('execution')).optional(),
  message: z.string().optional(),
  worker: z.string().min(1),
  /** Sequence of the claim: the fencing token. Null for `refused`. */
  claimSeq: z.int().positive().nullable(),
  epoch: z.int().nonnegative(),
  sandboxLevel: sandboxLevelSchema.nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  durationMs: z.number().nonnegative(),
  output: z.array(outputPartSchema),
  artifacts: z.array(artifactRefSchema),
  effects: z.object({
    files: z.array(fileEffectSchema),
    /** `complete`: the whole workspace was compared; `declared`: what the tool itself did; `none`: not looked. */
    scope: z.enum(['complete', 'declared', 'none']),
    excluded: z.array(z.string()),
  }),
  network: z.array(z.object({ host: z.string(), port: z.int(), allowed: z.boolean() })),
  /** Files shown to the model: they become read baselines. */
  reads: z.array(fileReadSchema),
  /** `indeterminate`: what a look at the world found. */
  probe: z.string().optional(),
});
export type ToolExecutionCompletedV1 = z.infer<typeof toolExecutionCompletedV1>;

/** A fact of a worker whose claim had been taken away: evidence, it moves nothing. Signed. */
export const executionLateV1 = z.object({
  intent: tokenSchema,
  why: z.string(),
  fact: toolExecutionCompletedV1,
});
export type ExecutionLateV1 = z.infer<typeof executionLateV1>;

/** A background job ended. Signed. */
export const jobEndedV1 = z.object({
  intent: tokenSchema,
  job: tokenSchema,
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  durationMs: z.number().nonnegative(),
  effects: z.array(fileEffectSchema),
  output: z.array(outputPartSchema),
});
export type JobEndedV1 = z.infer<typeof jobEndedV1>;
