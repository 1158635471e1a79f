/**
 * The form of `data` on the wire. A string above 64 KiB, and in a message above 512 KiB the largest top-level fields,
 * are stored apart: a reference stands in their place and `data["$spilled"]` lists where.
 */
import type { JsonSchema } from './json-schema.ts';

const SPILLED_DESCRIPTION =
  'JSON pointers into `data` of what is stored apart, outermost first. Absent when nothing is. A reference anywhere else is data and nothing more.';

/** Definitions that a schema in wire form refers to. */
export const WIRE_DEFINITIONS: Readonly<Record<string, JsonSchema>> = {
  SpilledText: reference(
    'text',
    'In the place of a string above 64 KiB: its bytes, in UTF-8, are an artifact.',
  ),
  SpilledJson: reference(
    'json',
    'In the place of a large field of a message above 512 KiB: its canonical JSON is an artifact.',
  ),
};

function reference(encoding: string, description: string): JsonSchema {
  return {
    description,
    type: 'object',
    properties: {
      $artifact: { type: 'string', pattern: '^artifact:\\/\\/[0-9a-f]{64}$' },
      sizeBytes: { type: 'integer', minimum: 0 },
      encoding: { const: encoding },
    },
    required: ['$artifact', 'sizeBytes', 'encoding'],
  };
}

/** Allows references where a large value may stand. `data` is an object. */
export function toWireForm(data: JsonSchema): JsonSchema {
  const wire = withText(data);
  const properties = Object.entries(wire.properties ?? {}).map(([name, property]): [string, JsonSchema] => [
    name,
    mayBeLarge(data.properties?.[name] ?? {}) ? or(property, 'SpilledJson') : property,
  ]);
  const $spilled = { description: SPILLED_DESCRIPTION, type: 'array', items: { type: 'string' } };
  return { ...wire, properties: { ...Object.fromEntries(properties), $spilled } };
}

/** Allows a reference in the place of each string without a limit, at any depth. */
function withText(node: JsonSchema): JsonSchema {
  if (isOpenText(node)) return or(node, 'SpilledText');
  const next: JsonSchema = { ...node };
  if (node.properties) next.properties = mapValues(node.properties, withText);
  if (node.items) next.items = withText(node.items);
  if (typeof node.additionalProperties === 'object')
    next.additionalProperties = withText(node.additionalProperties);
  if (node.anyOf) next.anyOf = node.anyOf.map(withText);
  if (node.oneOf) next.oneOf = node.oneOf.map(withText);
  return next;
}

function isOpenText(node: JsonSchema): boolean {
  const closed = ['enum', 'const', 'pattern', 'format', 'maxLength'];
  return node.type === 'string' && closed.every((keyword) => node[keyword] === undefined);
}

function mayBeLarge(node: JsonSchema): boolean {
  return (
    node.type === 'array' || node.type === 'object' || isOpenText(node) || 'anyOf' in node || 'oneOf' in node
  );
}

function or(node: JsonSchema, definition: string): JsonSchema {
  const { description, default: fallback, ...rest } = node;
  const $ref = `#/$defs/${definition}`;
  // A second alternative joins the first: `anyOf` in `anyOf` says no more.
  const alternatives = Object.keys(rest).join() === 'anyOf' ? (rest.anyOf ?? []) : [rest];
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    anyOf: [...alternatives, { $ref }],
  };
}

function mapValues<Value>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
