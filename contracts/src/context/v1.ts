import { z } from 'zod';
import { tokenSchema } from '../ids.ts';

/** A range of the conversation is shown to the model as a summary from now on. The log keeps the original. */
export const contextCompactedV1 = z.object({
  /** Entries of the conversation with a sequence in this range are replaced. */
  replaced: z.object({ fromSeq: z.int().nonnegative(), throughSeq: z.int().nonnegative() }),
  /** Shown with the label `summary`. */
  summary: z.string(),
  /** Observations kept in spite of the range, each with the call it answers. */
  kept: z.array(z.object({ intent: tokenSchema })).default([]),
});
export type ContextCompactedV1 = z.infer<typeof contextCompactedV1>;
