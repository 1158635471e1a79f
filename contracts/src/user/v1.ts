import { z } from 'zod';
import { artifactRefSchema, sha256Schema, tokenSchema, ulidSchema } from '../ids.ts';

/** A person said something. During a run it joins the next turn; otherwise it starts a run. */
export const userMessageV1 = z.object({
  text: z.string(),
  attachments: z.array(artifactRefSchema).default([]),
  person: z.string().min(1),
});
export type UserMessageV1 = z.infer<typeof userMessageV1>;

/** Somebody, or a passed deadline (`reason: budget`, by the observer), ends the run. */
export const runCancelV1 = z.object({
  reason: z.enum(['person', 'budget']),
  by: z.string().min(1),
  comment: z.string().optional(),
  /** Set by the observer for a passed deadline: the run it belongs to. A person cancels whatever runs. */
  run: tokenSchema.optional(),
});
export type RunCancelV1 = z.infer<typeof runCancelV1>;

export const grantScopeSchema = z.enum(['once', 'session', 'project']);

/** A person answers an ask. Signed by the person's key. It counts for the ask it names and no other. */
export const toolAnswerV1 = z.object({
  intent: tokenSchema,
  /** Id of the `tool.approval.asked` that was shown. */
  askedId: ulidSchema,
  /** `bindingSha256` of that ask. */
  bindingSha256: sha256Schema,
  verdict: z.enum(['approve', 'reject', 'edit']),
  /** `edit` only: the new input. */
  input: z.unknown().optional(),
  /** `edit` only: id of the intent that stands in the old one's place. */
  newIntent: tokenSchema.optional(),
  /** `approve` only. Default `once`. */
  scope: grantScopeSchema.default('once'),
  comment: z.string().optional(),
  person: z.string().min(1),
});
export type ToolAnswerV1 = z.infer<typeof toolAnswerV1>;

/** A person asks to undo the effects of an intent or of a run. Signed. The policy engine makes an intent of it. */
export const undoRequestedV1 = z.object({
  target: z.object({ kind: z.enum(['intent', 'run']), id: tokenSchema }),
  newIntent: tokenSchema,
  person: z.string().min(1),
});
export type UndoRequestedV1 = z.infer<typeof undoRequestedV1>;
