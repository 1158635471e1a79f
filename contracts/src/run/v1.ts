import { z } from 'zod';
import { usageSchema } from '../model/v1.ts';

/** The observer began a run: from the oldest message that no turn had taken to `run.finished`. */
export const runStartedV1 = z.object({
  /** Number of the run within the session, from 1. */
  number: z.int().positive(),
});
export type RunStartedV1 = z.infer<typeof runStartedV1>;

export const finishReasonSchema = z.enum([
  'completed',
  'cancelled',
  'budget',
  'max_turns',
  'length',
  'context_window',
  'refused',
  'model_failed',
]);
export type FinishReason = z.infer<typeof finishReasonSchema>;

/** The run ended; every call of it has an observation. */
export const runFinishedV1 = z.object({
  reason: finishReasonSchema,
  /** What ended it, in words, where the reason alone does not say. */
  detail: z.string().optional(),
  turns: z.int().nonnegative(),
  usage: usageSchema,
  costUsd: z.number().nonnegative().nullable(),
  /**
   * Messages up to this sequence that no turn took ended with this run: the cancel's sequence for a cancelled run, else 0.
   * Any other message that no turn took starts the next run.
   */
  throughSeq: z.int().nonnegative(),
});
export type RunFinishedV1 = z.infer<typeof runFinishedV1>;
