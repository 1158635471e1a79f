import { loadConfig } from '@interlock/kit';
import { z } from 'zod';

const milliseconds = (fallback: number, what: string) =>
  z.coerce.number().int().positive().default(fallback).describe(`milliseconds ${what}`);

const schema = z.object({
  preflightDeadlineMs: milliseconds(15_000, 'until a pool that does not answer is unavailable'),
  preflightTimeoutMs: milliseconds(5_000, 'that one preflight request may take'),
  preflightRetryMs: milliseconds(250, 'between two tries of a preflight'),
  validatorConcurrency: z.coerce
    .number()
    .int()
    .min(1)
    .max(256)
    .default(16)
    .describe('calls validated at once'),
});
export type ValidatorConfig = z.output<typeof schema>;

/** Settings from `INTERLOCK_*`. Throws ConfigError. */
export function loadValidatorConfig(env: Readonly<Record<string, string | undefined>>): ValidatorConfig {
  return loadConfig(schema, { env });
}
