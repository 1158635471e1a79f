import { z } from 'zod';
import { codesOf } from '../errors.ts';
import { artifactUriSchema, tokenSchema } from '../ids.ts';

/** How far a part may be trusted: `fact` by the system, `summary` and `suggestion` by the system about facts, `untrusted` from outside. */
export const labelSchema = z.enum(['fact', 'summary', 'suggestion', 'untrusted']);
export type Label = z.infer<typeof labelSchema>;

export const observationPartSchema = z.object({ label: labelSchema, text: z.string() });
export type ObservationPart = z.infer<typeof observationPartSchema>;

/** What the model is told about a call: honest, bounded, labelled. Exactly one per intent. */
export const toolObservationV1 = z.object({
  tool: z.string(),
  /** How the call ended. */
  ending: z.enum(['success', 'failed', 'refused', 'indeterminate', 'invalid', 'denied', 'cancelled']),
  code: z.enum([...codesOf('validation'), ...codesOf('decision'), ...codesOf('execution')]).optional(),
  isError: z.boolean(),
  parts: z.array(observationPartSchema),
  /** Bytes of output not shown, in all. */
  omittedBytes: z.int().nonnegative(),
  artifacts: z.array(artifactUriSchema),
  /** A superseded call is observed with the result of the one that stands in its place. */
  insteadOf: tokenSchema.optional(),
});
export type ToolObservationV1 = z.infer<typeof toolObservationV1>;
