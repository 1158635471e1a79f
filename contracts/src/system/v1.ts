import { z } from 'zod';
import { layerSchema } from '../approval/v1.ts';
import { codesOf } from '../errors.ts';
import { artifactUriSchema, instantSchema, sha256Schema, tokenSchema } from '../ids.ts';
import { toolDefinitionSchema } from '../tools/v1.ts';

/** A pool offers this tool from now on. The newest definition of a name is in force. */
export const toolRegisteredV1 = z.object({ digest: sha256Schema, definition: toolDefinitionSchema });
export type ToolRegisteredV1 = z.infer<typeof toolRegisteredV1>;

/** A policy bundle of a layer is in force from now on; its bytes are an artifact of the house tenant. */
export const policyActivatedV1 = z.object({
  layer: layerSchema,
  digest: sha256Schema,
  artifact: artifactUriSchema,
  rules: z.int().nonnegative(),
});
export type PolicyActivatedV1 = z.infer<typeof policyActivatedV1>;

/** A person lets what was shown pass from now on. It answers asks, never a deny. */
export const grantGivenV1 = z.object({
  grantId: tokenSchema,
  person: z.string().min(1),
  scope: z.enum(['session', 'project']),
  /** `session`: the session; `project`: any session on this workspace. */
  session: tokenSchema.optional(),
  workspace: z.string(),
  /** The narrowest pattern that covers what was shown. */
  pattern: z.object({
    tool: tokenSchema,
    /** Exact command, or real path, that the grant is for; absent: any input of the tool with the same effects. */
    command: z.string().optional(),
    path: z.string().optional(),
    effects: z.array(z.string()),
  }),
  answerId: z.string(),
  expiresAt: instantSchema.nullable(),
});
export type GrantGivenV1 = z.infer<typeof grantGivenV1>;

export const grantRevokedV1 = z.object({ grantId: tokenSchema, person: z.string().min(1) });
export type GrantRevokedV1 = z.infer<typeof grantRevokedV1>;

/** A stored message takes no part in any fold. */
export const eventQuarantinedV1 = z.object({
  /** Session it was stored in; absent when its subject cannot be read. */
  session: tokenSchema.optional(),
  intent: tokenSchema.optional(),
  /** Stream sequence of the message. */
  seq: z.int().positive(),
  subject: z.string(),
  code: z.enum([...codesOf('wire'), 'bad_signature']),
  reason: z.string(),
});
export type EventQuarantinedV1 = z.infer<typeof eventQuarantinedV1>;

/** Signed root over the events since the last checkpoint. */
export const checkpointV1 = z.object({
  fromSeq: z.int().positive(),
  throughSeq: z.int().positive(),
  events: z.int().nonnegative(),
  /** Merkle root over the SHA-256 of the stored bytes. */
  root: sha256Schema,
  previousRoot: sha256Schema,
});
export type CheckpointV1 = z.infer<typeof checkpointV1>;
