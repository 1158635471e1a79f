/**
 * The input schema of a tool, compiled once per digest of its definition. Input is judged as it is: nothing is
 * converted and no default is filled in, for that is the pool's to do and to state.
 */
import type { ToolDefinition, ValidationError } from '@interlock/contracts';
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { explainErrors } from './schema-errors.ts';

/** Judges an input against a tool's schema; an empty list is a fit. */
export type CheckInput = (digest: string, definition: ToolDefinition, input: unknown) => ValidationError[];

const OPTIONS: Options = {
  allErrors: true,
  verbose: true,
  // Schemas come from executors and MCP servers: an unknown keyword or format is theirs, not a reason to refuse calls.
  strict: false,
  validateFormats: true,
  logger: false,
  addUsedSchema: false,
};

/** Compiled schemas, the newest `maxSchemas` of them. Default 500. */
export function createSchemaCheck(maxSchemas = 500): CheckInput {
  const compiled = new Map<string, ValidateFunction | null>();
  const validatorOf = (digest: string, definition: ToolDefinition): ValidateFunction | null => {
    const known = compiled.get(digest);
    if (known !== undefined) return known;
    const made = compile(definition.inputSchema);
    compiled.set(digest, made);
    const oldest = compiled.size > maxSchemas ? compiled.keys().next().value : undefined;
    if (oldest !== undefined) compiled.delete(oldest);
    return made;
  };
  return (digest, definition, input) => {
    const validate = validatorOf(digest, definition);
    if (validate === null) return [unusable(definition.name)];
    return validate(input) ? [] : explainErrors(validate.errors ?? []);
  };
}

/** Each schema has an instance of its own: two tools may use the same `$id`. Null when it is not a schema. */
function compile(schema: Readonly<Record<string, unknown>>): ValidateFunction | null {
  const { $schema, ...rest } = schema;
  const ajv =
    typeof $schema === 'string' && /draft-0[67]/.test($schema) ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS);
  addFormats.default(ajv);
  try {
    return ajv.compile(rest);
  } catch {
    return null;
  }
}

function unusable(tool: string): ValidationError {
  return {
    path: '',
    code: 'schema_mismatch',
    message: `The tool "${tool}" is registered with an input schema that cannot be used.`,
    advice: 'Use another tool; only its owner can correct this.',
  };
}
