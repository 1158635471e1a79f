import { z } from 'zod';
import { instantSchema, sha256Schema, tokenSchema } from '../ids.ts';
import {
  baselineSchema,
  callBudgetsSchema,
  effectSchema,
  resumePolicySchema,
  sandboxLevelSchema,
} from '../tools/v1.ts';

export const decisionSchema = z.enum(['allow', 'ask', 'deny']);
export type Decision = z.infer<typeof decisionSchema>;

export const layerSchema = z.enum(['managed', 'project', 'user', 'default']);
export type Layer = z.infer<typeof layerSchema>;

/** A rule that matched, whether it won or not. */
export const matchSchema = z.object({
  layer: layerSchema,
  /** Digest of the bundle that holds the rule. */
  bundle: sha256Schema,
  rule: z.string(),
  decision: decisionSchema,
  reason: z.string(),
});
export type PolicyMatch = z.infer<typeof matchSchema>;

/** One engine's answer. */
export const verdictSchema = z.object({
  engine: tokenSchema,
  version: z.string(),
  decision: decisionSchema,
  /** What decided; null when nothing matched or the engine failed. */
  winner: matchSchema.nullable(),
  matches: z.array(matchSchema),
  /** Recorded but without force. */
  shadow: z.boolean(),
  error: z.string().optional(),
});
export type Verdict = z.infer<typeof verdictSchema>;

/** What the decision rests on: asked again with other grounds, it is another decision. */
export const groundsSchema = z.object({
  inputSha256: sha256Schema,
  /** SHA-256 over the digests of all bundles in force. */
  policyDigest: sha256Schema,
  baselinesSha256: sha256Schema,
  sandboxLevel: sandboxLevelSchema,
  /** Sequence through which the registry lanes of the tenant and of the house were folded. */
  registrySeq: z.int().nonnegative(),
});
export type Grounds = z.infer<typeof groundsSchema>;

/** A person must say. Signed. */
export const toolApprovalAskedV1 = z.object({
  prompt: z.object({
    title: z.string(),
    detail: z.string(),
    /** A unified diff or the command, in full. */
    preview: z.string().optional(),
    effects: z.array(effectSchema),
    paths: z.array(z.string()),
    hosts: z.array(z.string()),
  }),
  risk: z.enum(['low', 'medium', 'high']),
  verdicts: z.array(verdictSchema),
  grounds: groundsSchema,
  /** SHA-256 over tool digest and the grounds a person answers for (input, policy, baselines, sandbox). */
  bindingSha256: sha256Schema,
  /** Who may answer; empty: anyone but the proposer. */
  approvers: z.array(z.string()),
  /** Scopes that a grant may have. */
  scopes: z.array(z.enum(['once', 'session', 'project'])),
  expiresAt: instantSchema,
  /** An earlier answer that no longer counts, and why. */
  voided: z.object({ answerId: z.string(), why: z.string() }).optional(),
});
export type ToolApprovalAskedV1 = z.infer<typeof toolApprovalAskedV1>;

/** The call will not run. Signed. */
export const toolApprovalDeniedV1 = z.object({
  kind: z.enum(['rule', 'rejected', 'expired', 'superseded']),
  rule: z.string().nullable(),
  reason: z.string(),
  verdicts: z.array(verdictSchema),
  /** `rejected`, `superseded`: who. */
  person: z.string().optional(),
  /** `superseded`: the intent that stands in its place. */
  by: tokenSchema.optional(),
});
export type ToolApprovalDeniedV1 = z.infer<typeof toolApprovalDeniedV1>;

/** Everything an executor needs, and all it may do. It gets nothing but this. */
export const invocationSchema = z.object({
  intent: tokenSchema,
  tool: tokenSchema,
  toolDigest: sha256Schema,
  pool: tokenSchema,
  input: z.unknown(),
  inputSha256: sha256Schema,
  workspace: z.string().min(1),
  sandbox: z.object({
    /** Levels that satisfy the decision; the executor refuses on any other. */
    levels: z.array(sandboxLevelSchema).min(1),
    writable: z.boolean(),
    network: z.boolean(),
  }),
  budgets: callBudgetsSchema,
  baselines: z.array(baselineSchema),
  resumePolicy: resumePolicySchema,
  expiresAt: instantSchema,
});
export type Invocation = z.infer<typeof invocationSchema>;

/** The signed permit: one call, once, until it expires. */
export const toolApprovalAllowedV1 = z.object({
  invocation: invocationSchema,
  by: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('rule'), layer: layerSchema, rule: z.string() }),
    z.object({ kind: z.literal('answer'), answerId: z.string(), person: z.string() }),
    z.object({ kind: z.literal('grant'), grantId: z.string(), person: z.string() }),
  ]),
  verdicts: z.array(verdictSchema),
  grounds: groundsSchema,
});
export type ToolApprovalAllowedV1 = z.infer<typeof toolApprovalAllowedV1>;
