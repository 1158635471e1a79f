import { z } from 'zod';
import { LOG_LEVELS } from './log.ts';

/** Settings that every service has, from `INTERLOCK_*`. */
export const baseConfigSchema = z.object({
  natsUrl: z
    .string()
    .default('nats://127.0.0.1:4222')
    .describe('nats://host:port, several separated by commas'),
  keysDir: z.string().describe('the folder with trust.json and <service>.key'),
  logLevel: z.enum(LOG_LEVELS).default('info').describe(LOG_LEVELS.join(', ')),
  healthPort: z.coerce.number().int().min(0).max(65_535).default(0).describe('a port; 0 for any free one'),
  healthHost: z.string().default('127.0.0.1').describe('an address to listen on'),
  nkeySeedFile: z.string().optional().describe('a file with the seed of the NATS user'),
  natsApiPrefix: z.string().optional().describe('prefix of an imported JetStream API'),
  natsConnectTimeoutMs: z.coerce
    .number()
    .int()
    .positive()
    .default(10_000)
    .describe('milliseconds to find a server'),
  stopTimeoutMs: z.coerce
    .number()
    .int()
    .positive()
    .default(30_000)
    .describe('milliseconds for a graceful end'),
});
export type BaseConfig = z.output<typeof baseConfigSchema>;
