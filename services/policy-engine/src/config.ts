import { isToken } from '@interlock/contracts';
import { loadConfig } from '@interlock/kit';
import { z } from 'zod';
import type { RemoteEngine } from './engines/remote.ts';

const milliseconds = (fallback: number, what: string) =>
  z.coerce.number().int().positive().default(fallback).describe(`milliseconds ${what}`);

const schema = z.object({
  /** Read into `engines`. */
  policyEngines: z
    .string()
    .default('')
    .describe('names of remote engines, each with :shadow or :deny where wanted: cedar,opa:shadow')
    .transform((text, context) => {
      const engines = parseEngines(text);
      if (typeof engines !== 'string') return engines;
      context.addIssue({ code: 'custom', message: engines });
      return z.NEVER;
    }),
  engineDeadlineMs: milliseconds(2_000, 'that a remote engine may take'),
  managedPolicy: z.string().optional().describe('the file of the managed rule layer'),
  policyPollMs: milliseconds(1_000, 'between two looks at the managed file'),
  approvalExpiryMs: milliseconds(24 * 3_600_000, 'that an ask stays open, where its rule does not say'),
  invocationTtlMs: milliseconds(600_000, 'from a decision until its permit expires'),
  preflightDeadlineMs: milliseconds(15_000, 'until a pool that does not answer is unavailable'),
  preflightTimeoutMs: milliseconds(5_000, 'that one preflight request may take'),
  preflightRetryMs: milliseconds(250, 'between two tries of a preflight'),
  policyConcurrency: z.coerce.number().int().min(1).max(256).default(16).describe('calls decided at once'),
});
export type PolicyConfig = z.output<typeof schema>;

/** Settings from `INTERLOCK_*`. Throws ConfigError. */
export function loadPolicyConfig(env: Readonly<Record<string, string | undefined>>): PolicyConfig {
  return loadConfig(schema, { env });
}

/** `cedar,opa:shadow,guard:deny`; a sentence when it cannot be read. */
function parseEngines(text: string): readonly RemoteEngine[] | string {
  const engines: RemoteEngine[] = [];
  for (const item of text.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', ...flags] = item.trim().split(':');
    if (!isToken(name) || name === 'native') return `"${name}" is not a name for a remote engine`;
    const unknown = flags.find((flag) => flag !== 'shadow' && flag !== 'deny');
    if (unknown !== undefined) return `"${unknown}" is neither shadow nor deny`;
    if (engines.some((engine) => engine.name === name)) return `"${name}" is named twice`;
    const onFailure = flags.includes('deny') ? 'deny' : 'ask';
    engines.push({ name, shadow: flags.includes('shadow'), onFailure });
  }
  return engines;
}
