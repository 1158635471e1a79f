import { expect, test } from 'vitest';
import { EVENT_TYPES } from '../../src/registry.ts';
import { complaints } from '../complaints.ts';
import { releases } from '../released.ts';
import { scan } from './descriptions.ts';
import { generatedFiles, schemaFiles } from './files.ts';
import { toWireForm } from './wire-form.ts';

test('generated files are up to date and releases compatible', () => {
  expect(complaints()).toEqual([]);
});

test('equal contracts give equal bytes', () => {
  expect([...generatedFiles()]).toEqual([...generatedFiles()]);
});

test('every type has a schema with an address, a description and no mark of the generator', () => {
  const schemas = schemaFiles();
  for (const type of EVENT_TYPES) {
    const schema = schemas.get(`events/${type}.v1.json`);
    expect(schema).toMatchObject({ $id: `urn:interlock:${type}:v1`, title: `${type} v1` });
    expect(JSON.stringify(schema)).not.toContain('x-documented-as');
  }
  const addresses = [...schemas.values()].map(({ $id }) => $id);
  expect(new Set(addresses).size).toBe(addresses.length);
});

test('there is a release', () => {
  expect(releases().length).toBeGreaterThan(0);
});

test('comments are found above schemas, fields, nested fields and variants', () => {
  const found = scan(`
/** One thing. */
export const oneV1 = z.object({
  /**
   * A field,
   * in two lines.
   */
  a: z.string(),
  b: z.object({
    /** Nested. */
    c: z.string(),
  }),
  d: z
    .object({
      /** Deeper. */
      e: z.int(),
    })
    .nullable(),
});
export const twoV1 = z.discriminatedUnion('type', [
  z.object({ type: z.literal('x') }),
  z.object({
    /** Of the second. */
    type: z.literal('y'),
  }),
]);
/** Not a schema's. */
function other() {}
export const threeV1 = z.string();
`);
  expect(found.get('oneV1')?.text).toBe('One thing.');
  expect(Object.fromEntries(found.get('oneV1')?.fields ?? [])).toEqual({
    a: 'A field, in two lines.',
    'b.c': 'Nested.',
    'd.e': 'Deeper.',
  });
  expect(Object.fromEntries(found.get('twoV1')?.fields ?? [])).toEqual({ '#1.type': 'Of the second.' });
  expect(found.get('threeV1')?.text).toBeUndefined();
});

test('a reference may stand for a string without a limit, and for a large field', () => {
  const text = { $ref: '#/$defs/SpilledText' };
  const whole = { $ref: '#/$defs/SpilledJson' };
  const wire = toWireForm({
    type: 'object',
    properties: {
      open: { type: 'string', description: 'said' },
      id: { type: 'string', pattern: '^a$' },
      word: { type: 'string', enum: ['a'] },
      count: { type: 'integer' },
      any: {},
      list: { type: 'array', items: { type: 'string' } },
      map: { type: 'object', additionalProperties: { type: 'string' } },
    },
  });
  expect(wire.properties).toMatchObject({
    open: { description: 'said', anyOf: [{ type: 'string' }, text, whole] },
    id: { type: 'string', pattern: '^a$' },
    word: { type: 'string', enum: ['a'] },
    count: { type: 'integer' },
    any: {},
    list: { anyOf: [{ type: 'array', items: { anyOf: [{ type: 'string' }, text] } }, whole] },
    map: { anyOf: [{ type: 'object', additionalProperties: { anyOf: [{ type: 'string' }, text] } }, whole] },
    $spilled: { type: 'array' },
  });
});
