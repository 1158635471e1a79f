/**
 * The two optional properties by which a real model says what a call is for and what it expects. They are added to each
 * tool's schema on the wire and taken off again before anything else sees the input: recorded and shown, never a ground
 * for a decision. A tool that has a property of that name keeps it to itself.
 */
import { isObject, type JsonObject } from './json.ts';

const RESERVED = {
  _reason: {
    type: 'string',
    description: 'Optional: in one sentence, what this call is for. Shown to people; not part of the input.',
  },
  _expect: {
    type: 'string',
    description:
      'Optional: what result you expect. Compared with what really happened; not part of the input.',
  },
} as const;
type Reserved = keyof typeof RESERVED;
const NAMES = Object.keys(RESERVED) as readonly Reserved[];

/** The schema with the reserved properties; a property the tool declares itself is left alone. */
export function withReserved(schema: JsonObject): JsonObject {
  const own = isObject(schema.properties) ? schema.properties : {};
  return { ...schema, properties: { ...own, ...pick(RESERVED, (name) => !Object.hasOwn(own, name)) } };
}

export interface Stripped {
  readonly input: unknown;
  readonly reason?: string;
  readonly expect?: string;
}

/** Takes the reserved properties off an input, except those that the tool's own schema declares. */
export function stripReserved(input: unknown, schema: JsonObject | undefined): Stripped {
  if (!isObject(input)) return { input };
  const declared = schema?.properties;
  const own = isObject(declared) ? declared : {};
  const taken = NAMES.filter((name) => Object.hasOwn(input, name) && !Object.hasOwn(own, name));
  if (taken.length === 0) return { input };
  const rest = Object.fromEntries(
    Object.entries(input).filter(([key]) => !taken.some((name) => name === key)),
  );
  const said = (name: Reserved): string | undefined => {
    const value = taken.includes(name) ? input[name] : undefined;
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const reason = said('_reason');
  const expect = said('_expect');
  return {
    input: rest,
    ...(reason === undefined ? {} : { reason }),
    ...(expect === undefined ? {} : { expect }),
  };
}

/** Puts `reason` and `expect` back where the model had them, so that it sees its own call again. */
export function restoreReserved(
  input: JsonObject,
  said: { reason?: string | undefined; expect?: string | undefined },
): JsonObject {
  return {
    ...input,
    ...(said.reason === undefined || Object.hasOwn(input, '_reason') ? {} : { _reason: said.reason }),
    ...(said.expect === undefined || Object.hasOwn(input, '_expect') ? {} : { _expect: said.expect }),
  };
}

function pick(from: typeof RESERVED, keep: (name: Reserved) => boolean): JsonObject {
  return Object.fromEntries(NAMES.filter(keep).map((name) => [name, from[name]]));
}
