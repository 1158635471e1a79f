/** Settings from the environment, checked, with a table that says what is wrong. */

import type { ErrorCode } from '@interlock/contracts';
import { z } from 'zod';

export interface ConfigProblem {
  /** `INTERLOCK_…` */
  readonly variable: string;
  readonly problem: string;
  /** The field's description. */
  readonly expected: string;
}

/** One or more settings are missing or wrong. `message` is a table for people. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'config_invalid' satisfies ErrorCode;
  readonly problems: readonly ConfigProblem[];
  constructor(problems: readonly ConfigProblem[]) {
    super(`settings are missing or wrong:\n${table(problems)}`);
    this.problems = problems;
  }
}

export interface ConfigSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default `INTERLOCK_`. */
  readonly prefix?: string | undefined;
}

/**
 * Reads each field of `schema` from the variable of its name: `natsUrl` from `INTERLOCK_NATS_URL`. An empty variable
 * counts as absent. Describe fields with `.describe()`; the table shows it as what is expected.
 * @throws ConfigError
 */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  source: ConfigSource,
): z.output<Schema> {
  const prefix = source.prefix ?? 'INTERLOCK_';
  const input: Record<string, string> = {};
  for (const field of Object.keys(schema.shape)) {
    const value = source.env[variableOf(prefix, field)];
    if (value !== undefined && value !== '') input[field] = value;
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map((issue) => toProblem(schema, prefix, input, issue)));
}

/** `natsUrl` -> `INTERLOCK_NATS_URL` */
export function variableOf(prefix: string, field: string): string {
  return `${prefix}${field.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase()}`;
}

function toProblem(
  schema: z.ZodObject,
  prefix: string,
  input: Record<string, string>,
  issue: { readonly path: readonly PropertyKey[]; readonly message: string },
): ConfigProblem {
  const field = String(issue.path[0] ?? '');
  const shape: Record<string, unknown> = schema.shape;
  const described = shape[field];
  return {
    variable: field === '' ? '(all)' : variableOf(prefix, field),
    problem: Object.hasOwn(input, field) || field === '' ? issue.message : 'not set',
    expected: described instanceof z.ZodType ? (described.description ?? '') : '',
  };
}

function table(problems: readonly ConfigProblem[]): string {
  const rows = [
    ['variable', 'problem', 'expected'],
    ...problems.map((p) => [p.variable, p.problem, p.expected]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}
