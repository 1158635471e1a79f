import { isToken } from '@interlock/contracts';
import { z } from 'zod';
import { PROFILES, type TopologyOptions } from './topology.ts';

const MIB = 1024 * 1024;

const bytes = (mebibytes: number, what: string) =>
  z.coerce
    .number()
    .int()
    .positive()
    .default(mebibytes * MIB)
    .describe(`bytes: ${what}`);

const flag = z.enum(['0', '1']).default('0');

/** Settings of the event-store, each `INTERLOCK_<NAME>`. */
export const eventStoreConfigSchema = z.object({
  profile: z.enum(PROFILES).default('dev').describe(PROFILES.join(', ')),
  pools: z
    .string()
    .default('fs,shell')
    .transform((text) =>
      text
        .split(',')
        .map((pool) => pool.trim())
        .filter(Boolean),
    )
    .refine((pools) => pools.every(isToken), 'a pool is 1 to 64 letters, digits, "_" or "-"')
    .describe('executor pools that exist from the start, separated by commas'),
  analytics: flag.describe('1: a durable "analytics" over all events'),
  eventsMaxBytes: bytes(1024, 'limit of the log; a full log refuses'),
  blobMaxBytes: bytes(2048, 'limit of artifacts; full, it refuses'),
  liveMaxBytes: bytes(64, 'limit of live text, in memory'),
  timersMaxBytes: bytes(64, 'limit of timers'),
  deadLettersMaxBytes: bytes(64, 'limit of dead letters'),
  bucketMaxBytes: bytes(64, 'limit of each bucket'),
  reconcileMs: z.coerce
    .number()
    .int()
    .min(100)
    .default(30_000)
    .describe('milliseconds between two looks at what is provisioned'),
});
export type EventStoreConfig = z.output<typeof eventStoreConfigSchema>;

/** What the settings say of streams and consumers. */
export function topologyOptionsOf(config: EventStoreConfig): TopologyOptions {
  return {
    profile: config.profile,
    pools: config.pools,
    analytics: config.analytics === '1',
    limits: {
      eventsBytes: config.eventsMaxBytes,
      blobBytes: config.blobMaxBytes,
      liveBytes: config.liveMaxBytes,
      timersBytes: config.timersMaxBytes,
      deadLettersBytes: config.deadLettersMaxBytes,
      bucketBytes: config.bucketMaxBytes,
    },
  };
}
