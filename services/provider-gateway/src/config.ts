import { readFile } from 'node:fs/promises';
import { loadConfig } from '@interlock/kit';
import { z } from 'zod';
import { ANTHROPIC_URL } from './providers/anthropic.ts';

const milliseconds = (fallback: number, what: string) =>
  z.coerce.number().int().positive().default(fallback).describe(`milliseconds ${what}`);

const count = (fallback: number, max: number, what: string) =>
  z.coerce.number().int().min(1).max(max).default(fallback).describe(what);

const schema = z.object({
  anthropicApiKey: z.string().trim().min(1).optional().describe('the key of the Messages API'),
  anthropicApiKeyFile: z.string().optional().describe('a file that holds the key'),
  anthropicBaseUrl: z
    .string()
    .default(ANTHROPIC_URL)
    .refine(isSafeUrl, 'the key must not travel in the clear')
    .describe('an https address; http for this machine only'),
  anthropicCacheTtl: z
    .enum(['5m', '1h'])
    .default('5m')
    .describe('5m or 1h: how long the provider keeps a prefix'),
  modelConcurrency: count(32, 1000, 'requests in hand at once'),
  modelMaxAttempts: count(5, 20, 'attempts a request may have'),
  modelBackoffMs: milliseconds(
    500,
    'before the second attempt, where the provider does not say; doubled each time',
  ),
  modelMaxWaitMs: milliseconds(60_000, 'that a provider may make a request wait; above it the request fails'),
  modelFirstByteMs: milliseconds(300_000, 'until the first byte of an answer'),
  modelIdleMs: milliseconds(300_000, 'from one byte of an answer to the next'),
  modelTotalMs: milliseconds(1_800_000, 'that one answer may take'),
  modelStopGraceMs: milliseconds(5000, 'that answers may still take when the service stops'),
});
export type GatewayConfig = z.output<typeof schema>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings from `INTERLOCK_*`. Throws ConfigError. */
export function loadGatewayConfig(env: Environment): GatewayConfig {
  return loadConfig(schema, { env });
}

/**
 * The key, by value, else from its file, else from the variable that the provider's own tools use.
 * @returns null where there is none
 * @throws where the file cannot be read
 */
export async function anthropicKey(config: GatewayConfig, env: Environment): Promise<string | null> {
  if (config.anthropicApiKey) return config.anthropicApiKey;
  if (config.anthropicApiKeyFile) return (await readFile(config.anthropicApiKeyFile, 'utf8')).trim() || null;
  return env.ANTHROPIC_API_KEY?.trim() || null;
}

function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  const local = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && local);
}
