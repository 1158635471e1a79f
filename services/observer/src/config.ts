import { z } from 'zod';

function milliseconds(byDefault: number, least = 1) {
  return z.coerce.number().int().min(least).default(byDefault).describe(`milliseconds, ${least} at least`);
}

function count(byDefault: number, least: number) {
  return z.coerce.number().int().min(least).default(byDefault).describe(`a number, ${least} at least`);
}

/** Settings of the observer; `observationBytes` is read from `INTERLOCK_OBSERVATION_BYTES`, and so on. */
export const observerConfigSchema = z.object({
  /** Bytes of text that one observation may have. */
  observationBytes: count(16_384, 8192),
  /** How long a gateway may take to end a cancelled request before the observer goes on alone. */
  streamCancelMs: milliseconds(10_000),
  /** How often a cancel is looked at again, and `ctl` sent again, until the run is finished. */
  cancelRetryMs: milliseconds(500),
  /** How long open calls go unwatched at most. */
  watchMs: milliseconds(30_000, 100),
  /** How long a claim whose lease has lapsed is left to its pool, whose probe knows more than the observer. */
  leaseGraceMs: milliseconds(15_000),
  /** How long a lane that holds a quarantined event may stand still before its call is withdrawn. */
  quarantineGraceMs: milliseconds(10_000),
  /** How old the list of tools that a model is shown may be. */
  toolsMaxAgeMs: milliseconds(1000, 0),
  /** Requests of one turn at most: a model that pauses for ever is stopped. */
  maxRequestsPerTurn: count(32, 1),
  /** Deliveries handled at once by one replica. */
  observerConcurrency: count(32, 1),
});
export type ObserverConfig = z.output<typeof observerConfigSchema>;
