import { z } from 'zod';
import { sha256Schema, tokenSchema } from '../ids.ts';

/** What a call may do to the world, in twelve words. */
export const effectSchema = z.enum([
  'read-only',
  'runs-project-code',
  'writes-workspace',
  'writes-outside',
  'reads-outside',
  'reads-secrets',
  'deletes',
  'network',
  'installs-packages',
  'privilege',
  'discards-vcs',
  'unknown',
]);
export type Effect = z.infer<typeof effectSchema>;

/** What the executor's host says a call would do. An input to policy, made before anything runs. */
export const assessmentSchema = z.object({
  effects: z.array(effectSchema).min(1),
  paths: z.array(
    z.object({
      /** As proposed. */
      path: z.string(),
      /** As the kernel resolves it. */
      real: z.string(),
      access: z.enum(['read', 'write', 'delete']),
      inside: z.boolean(),
    }),
  ),
  hosts: z.array(z.string()),
  commands: z.array(z.object({ text: z.string(), program: z.string(), effects: z.array(effectSchema) })),
  confidence: z.enum(['certain', 'likely', 'unknown']),
  /** One line for people. */
  summary: z.string(),
  /** What would change, for people: a unified diff or the command. */
  preview: z.string().optional(),
});
export type Assessment = z.infer<typeof assessmentSchema>;

/** Sandbox of a host: `A` full, `B` with the container's /proc, `C` Landlock only, `D` none. */
export const sandboxLevelSchema = z.enum(['A', 'B', 'C', 'D']);
export type SandboxLevel = z.infer<typeof sandboxLevelSchema>;

/** A file as it was seen: `sha256` null when it did not exist. */
export const baselineSchema = z.object({ path: z.string(), sha256: sha256Schema.nullable() });
export type Baseline = z.infer<typeof baselineSchema>;

/** A file that a call has shown to the model; later edits rest on it. */
export const fileReadSchema = z.object({
  /** Real path. */
  path: z.string(),
  sha256: sha256Schema,
  /** Lines shown, from 1; null when the whole file was. */
  range: z.object({ from: z.int().positive(), to: z.int().nonnegative() }).nullable(),
});
export type FileRead = z.infer<typeof fileReadSchema>;

/** What happens after a crash between claim and fact: `never-rerun`, `rerun-safe`, or `probe` (look at the world, then tell). */
export const resumePolicySchema = z.enum(['never-rerun', 'rerun-safe', 'probe']);
export type ResumePolicy = z.infer<typeof resumePolicySchema>;

/** Limits of one call; the executor enforces them. */
export const callBudgetsSchema = z.object({
  timeoutMs: z.int().positive(),
  /** Bytes of output shown to the model; the rest is an artifact. */
  outputBytes: z.int().positive(),
});
export type CallBudgets = z.infer<typeof callBudgetsSchema>;

/** A JSON Schema 2020-12 document. */
export const jsonSchemaSchema = z.record(z.string(), z.unknown());

/** A tool as an executor registers it. The digest is the SHA-256 of the canonical JSON of this object. */
export const toolDefinitionSchema = z.object({
  name: tokenSchema,
  version: z.string(),
  description: z.string(),
  pool: tokenSchema,
  inputSchema: jsonSchemaSchema,
  readOnly: z.boolean(),
  /** Modes in which the tool is shown to the model. */
  visibleIn: z.array(z.enum(['normal', 'read-only', 'auto-edit', 'replay'])),
  /** Needs a file in the read baselines before it may change it. */
  needsBaseline: z.boolean(),
  budgets: callBudgetsSchema,
  resumePolicy: resumePolicySchema,
});
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>;
