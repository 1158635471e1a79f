/**
 * The script file of the scripted provider: JSON that travels as an artifact of the session.
 *
 * Unknown keys of the file are dropped; unknown keys of a turn, a condition or a part are refused, because a misspelt
 * `when` would match everywhere.
 */
import { stopSchema, type Usage } from '@interlock/contracts';
import { z } from 'zod';
import { FAILURES, type FailureCategory } from '../provider.ts';

type ScriptPart = { readonly text: string } | { readonly reasoning: string } | { readonly call: ScriptCall };

export interface ScriptCall {
  readonly tool: string;
  /** Arguments as the provider would send them; JSON where the script gives `input`. */
  readonly raw: string;
  readonly reason?: string;
  readonly expect?: string;
}

const partSchema = z
  .strictObject({
    text: z.string().optional(),
    reasoning: z.string().optional(),
    tool: z.string().min(1).optional(),
    input: z.unknown().optional(),
    rawInput: z.string().optional(),
    reason: z.string().optional(),
    expect: z.string().optional(),
  })
  .transform((part, context): ScriptPart => {
    const { text, reasoning, tool, input, rawInput, reason, expect } = part;
    if ([text, reasoning, tool].filter((value) => value !== undefined).length !== 1) {
      context.addIssue({ code: 'custom', message: 'a part is one of "text", "reasoning" and "tool"' });
      return z.NEVER;
    }
    if (tool === undefined && [input, rawInput, reason, expect].some((value) => value !== undefined)) {
      context.addIssue({
        code: 'custom',
        message: '"input", "rawInput", "reason" and "expect" belong to a "tool"',
      });
      return z.NEVER;
    }
    if (input !== undefined && rawInput !== undefined) {
      context.addIssue({ code: 'custom', message: 'a tool has "input" or "rawInput", not both' });
      return z.NEVER;
    }
    if (text !== undefined) return { text };
    if (reasoning !== undefined) return { reasoning };
    const raw = rawInput ?? JSON.stringify(input ?? {});
    const said = { ...(reason === undefined ? {} : { reason }), ...(expect === undefined ? {} : { expect }) };
    return { call: { tool: tool ?? '', raw, ...said } };
  });

const regexSchema = z.string().transform((pattern, context): RegExp => {
  try {
    return new RegExp(pattern);
  } catch (error) {
    context.addIssue({
      code: 'custom',
      message: error instanceof Error ? error.message : 'not a regular expression',
    });
    return z.NEVER;
  }
});

const tokens = z.int().nonnegative();
/** Neutral names in either spelling; what is left out is 0, `reasoning` unknown. */
const scriptUsageSchema = z
  .object({
    inputUncached: tokens.optional(),
    input_uncached: tokens.optional(),
    cacheRead: tokens.optional(),
    cache_read: tokens.optional(),
    cacheWrite: tokens.optional(),
    cache_write: tokens.optional(),
    output: tokens.optional(),
    reasoning: tokens.nullable().optional(),
  })
  .transform(
    (usage): Usage => ({
      inputUncached: usage.inputUncached ?? usage.input_uncached ?? 0,
      cacheRead: usage.cacheRead ?? usage.cache_read ?? 0,
      cacheWrite: usage.cacheWrite ?? usage.cache_write ?? 0,
      output: usage.output ?? 0,
      reasoning: usage.reasoning ?? null,
    }),
  );

/** Other names of the field for our categories. */
const ALIASES: Readonly<Record<string, FailureCategory>> = {
  authentication: 'auth',
  quota: 'billing',
  timeout: 'stream_timeout',
  truncated: 'stream_truncated',
  cancelled: 'model_cancelled',
  unsupported_parameter: 'invalid_request',
  invalid_tool_schema: 'invalid_request',
  invalid_tool_call_by_model: 'invalid_request',
  refusal: 'invalid_request',
  api: 'internal',
  server: 'internal',
  connection: 'transport',
  network: 'transport',
};

const categorySchema = z.string().transform((name, context): FailureCategory => {
  const bare = name.replace(/_error$/, '');
  const known =
    FAILURES.find((category) => category === bare) ??
    (Object.hasOwn(ALIASES, bare) ? ALIASES[bare] : undefined);
  if (known !== undefined) return known;
  context.addIssue({ code: 'custom', message: `no error category "${name}"` });
  return z.NEVER;
});

const turnSchema = z.strictObject({
  /** Absent: always. Both given: both must hold. */
  when: z
    .strictObject({ turn: z.int().positive().optional(), observation_matches: regexSchema.optional() })
    .optional(),
  parts: z.array(partSchema).default([]),
  /** Default `tool_calls` where a part is a tool, else `end_turn`. `error` and `cancelled` make the attempt fail. */
  stop: z.union([stopSchema, z.enum(['error', 'cancelled'])]).optional(),
  usage: scriptUsageSchema.nullable().optional(),
  /** How long the answer takes; its text comes bit by bit within that time. */
  delayMs: z.int().nonnegative().default(0),
  /** The stream ends half way, without its terminal event. */
  cut: z.boolean().default(false),
  /** The attempt fails instead. */
  error: z
    .strictObject({ category: categorySchema, retryAfterMs: z.int().nonnegative().optional() })
    .optional(),
});
export type ScriptTurn = z.output<typeof turnSchema>;

const scriptSchema = z.object({ turns: z.array(turnSchema) });
export type Script = z.output<typeof scriptSchema>;

export type ParsedScript =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly message: string };

/** Parses a script file; the message of a refusal names the first field that is wrong. Total. */
export function parseScript(text: string): ParsedScript {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return {
      ok: false,
      message: `the script is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`,
    };
  }
  const parsed = scriptSchema.safeParse(json);
  if (parsed.success) return { ok: true, script: parsed.data };
  const issue = parsed.error.issues[0];
  return {
    ok: false,
    message: `${issue ? nameField(issue.path) : 'script'}: ${issue?.message ?? 'does not parse'}`,
  };
}

/** `turns[2].parts[0].tool` */
function nameField(path: readonly PropertyKey[]): string {
  return path.length === 0
    ? 'script'
    : path
        .map((key, index) =>
          typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`,
        )
        .join('');
}
