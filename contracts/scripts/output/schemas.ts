/** JSON Schemas 2020-12 of all messages: events whole, envelope and data; requests, replies and signals. */
import { z } from 'zod';
import { envelopeSchema, toDataSchemaUri } from '../../src/envelope.ts';
import { ERROR_CODES } from '../../src/errors.ts';
import { EVENTS, type EventContract, type EventType } from '../../src/registry.ts';
import { RPCS, type RpcName, SIGNALS } from '../../src/rpc/v1.ts';
import { type LaneKind, POOLED_TYPES } from '../../src/subjects.ts';
import { describeMarked, descriptionOf, markDocumented } from './descriptions.ts';
import type { JsonSchema } from './json-schema.ts';
import { toWireForm, WIRE_DEFINITIONS } from './wire-form.ts';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const TOKEN = '[A-Za-z0-9_-]{1,64}';

/** The schema of a whole event as it is stored, in one of its versions. */
export function eventSchema(type: EventType, version: number): JsonSchema {
  const { lane, appendedBy, signed, ...contract }: EventContract = EVENTS[type];
  const schema = contract.past?.[version - 1]?.schema ?? contract.schema;
  const envelope = toJsonSchema(envelopeSchema);
  const description = descriptionOf(schema);
  const { description: _said, ...data } = toWireForm(toJsonSchema(schema));
  return {
    $schema: DIALECT,
    $id: toDataSchemaUri(type, version),
    title: `${type} v${version}`,
    ...(description ? { description } : {}),
    type: 'object',
    properties: {
      ...envelope.properties,
      type: { const: type },
      dataschema: { const: toDataSchemaUri(type, version) },
      subject: { ...envelope.properties?.subject, pattern: subjectPattern(type, lane) },
      data,
    },
    required: [...(envelope.required ?? []), ...requiredBy(lane, signed)],
    $defs: Object.fromEntries(Object.entries(WIRE_DEFINITIONS).filter(([name]) => isUsed(data, name))),
    'x-interlock': { lane, signed, appendedBy: [...appendedBy] },
  };
}

export function rpcSchema(name: RpcName, side: 'request' | 'reply'): JsonSchema {
  return messageSchema(`rpc:${name}.${side}`, `${name} ${side} v1`, RPCS[name][side]);
}

export function signalSchema(name: keyof typeof SIGNALS): JsonSchema {
  return messageSchema(name, `${name} v1`, SIGNALS[name]);
}

function messageSchema(urn: string, title: string, schema: z.ZodType): JsonSchema {
  return { $schema: DIALECT, $id: `urn:interlock:${urn}:v1`, title, ...toJsonSchema(schema) };
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  const made = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const node = jsonSchema as JsonSchema;
      markDocumented(zodSchema, node);
      // Codes are an open list: a reader takes a code that it does not know for what the message says in words.
      if (isCodeList(node.enum)) node['x-codes'] = true;
    },
  });
  const { $schema: _dialect, ...json } = JSON.parse(JSON.stringify(made)) as JsonSchema;
  describeMarked(json);
  return json;
}

function isCodeList(values: unknown): boolean {
  const codes: readonly string[] = ERROR_CODES;
  return Array.isArray(values) && values.length > 1 && values.every((value) => codes.includes(value));
}

/** What E1, E2 and the lane demand beyond the envelope of all events. */
function requiredBy(lane: LaneKind, signed: boolean): string[] {
  return [
    ...(lane === 'i' ? ['intent'] : []),
    ...(lane === 'u' || lane === 'x' ? [] : ['prevseq', 'prevhash']),
    ...(signed ? ['keyid', 'signature'] : []),
  ];
}

function subjectPattern(type: EventType, lane: LaneKind): string {
  const middle = {
    u: `${TOKEN}\\.u`,
    s: `${TOKEN}\\.s`,
    i: `${TOKEN}\\.i\\.${TOKEN}`,
    x: `${TOKEN}\\.x`,
    sys: 'sys',
  };
  const pool = POOLED_TYPES.has(type) ? `\\.${TOKEN}` : '';
  return `^ev\\.v1\\.${TOKEN}\\.${middle[lane]}\\.${type.replaceAll('.', '\\.')}${pool}$`;
}

function isUsed(schema: JsonSchema, definition: string): boolean {
  return JSON.stringify(schema).includes(`#/$defs/${definition}"`);
}
