/**
 * A tool as the Messages API takes it. The registered schema stays the validator's truth; on the wire it is relaxed
 * where the API would refuse it, so that one tool never fails a whole request.
 */
import type { ToolDefinition } from '@interlock/contracts';
import { isObject, type JsonObject } from '../json.ts';
import { withReserved } from '../reserved-input.ts';

export interface WireTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject & { readonly type: 'object' };
  readonly cache_control?: JsonObject;
}

export function toWireTool({ name, description, inputSchema }: ToolDefinition): WireTool {
  const { schema, note } = relax(inputSchema);
  return {
    name: toWireName(name),
    description: note === null ? description : `${description}\n\n${note}`,
    input_schema: { ...withReserved(schema), type: 'object' },
  };
}

/** A tool's name within the API's rule; registered names keep to it already, a name that the model made up may not. */
export function toWireName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64);
  return safe === '' ? '_' : safe;
}

const COMBINATORS = ['oneOf', 'anyOf', 'allOf'] as const;

/** Alternatives at the top level become one object with the properties of all; the rule itself moves into the description. */
function relax(inputSchema: JsonObject): { schema: JsonObject; note: string | null } {
  const { $schema: _dialect, ...schema } = inputSchema;
  const found = COMBINATORS.filter((key) => Array.isArray(schema[key]));
  if (found.length === 0) return { schema, note: null };
  const rest = Object.fromEntries(
    Object.entries(schema).filter(([key]) => !found.some((name) => name === key)),
  );
  const branches = found.flatMap((key) => (Array.isArray(schema[key]) ? schema[key].filter(isObject) : []));
  const properties = Object.assign({}, ...[rest, ...branches].map((branch) => branch.properties ?? {}));
  const alternatives = Object.fromEntries(found.map((key) => [key, schema[key]]));
  return {
    schema: { ...rest, properties, additionalProperties: rest.additionalProperties ?? true },
    note: `The input must also fit this JSON Schema: ${JSON.stringify(alternatives)}`,
  };
}
