import { describe, expect, test } from 'vitest';
import { readFile } from '../test/samples.ts';
import { createSchemaCheck } from './schema.ts';

const check = createSchemaCheck();
let digests = 0;

function errorsOf(inputSchema: Record<string, unknown>, input: unknown): string[] {
  const errors = check(`digest-${++digests}`, { ...readFile, inputSchema }, input);
  for (const { code, advice } of errors) expect([code, advice.length > 0]).toEqual(['schema_mismatch', true]);
  return errors.map(({ path, message }) => `${path} ${message}`);
}

const edits = {
  anyOf: [
    {
      type: 'object',
      properties: {
        path: { type: 'string' },
        oldText: { type: 'string', minLength: 1 },
        newText: { type: 'string' },
      },
      required: ['path', 'oldText', 'newText'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: {
        path: { type: 'string' },
        edits: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: { oldText: { type: 'string' }, newText: { type: 'string' } },
            required: ['oldText', 'newText'],
          },
        },
      },
      required: ['path', 'edits'],
      additionalProperties: false,
    },
  ],
};

const object = (properties: Record<string, unknown>, more = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
});

describe('errors are sentences that name field, expectation and what was given', () => {
  test.each<[string, Record<string, unknown>, unknown, string[]]>([
    ['not an object', readFile.inputSchema, ['a'], [' The input must be an object, but it is a list of 1.']],
    ['null', readFile.inputSchema, null, [' The input must be an object, but it is null.']],
    ['missing', readFile.inputSchema, {}, ['/path The field "path" is missing; it must be a string.']],
    [
      'missing, with a description',
      object({ path: { type: 'string', description: 'Which file.' } }, { required: ['path'] }),
      {},
      ['/path The field "path" is missing; it must be a string (Which file).'],
    ],
    [
      'empty',
      readFile.inputSchema,
      { path: '' },
      ['/path The field "path" must be a text that is not empty, but it is "".'],
    ],
    [
      'wrong type',
      readFile.inputSchema,
      { path: 'a', limit: '3' },
      ['/limit The field "limit" must be an integer, but it is "3".'],
    ],
    [
      'too small',
      readFile.inputSchema,
      { path: 'a', limit: 0 },
      ['/limit The field "limit" must be 1 or more, but it is 0.'],
    ],
    [
      'unknown',
      readFile.inputSchema,
      { path: 'a', lines: 3 },
      ['/lines The field "lines" is not one of this tool\'s; it takes "path", "limit".'],
    ],
    [
      'not one of',
      object({ mode: { enum: ['a', 'b'] } }),
      { mode: 'c' },
      ['/mode The field "mode" must be one of "a", "b", but it is "c".'],
    ],
    [
      'a constant',
      object({ kind: { const: 1 } }),
      { kind: 2 },
      ['/kind The field "kind" must be 1, but it is 2.'],
    ],
    [
      'a pattern',
      object({ id: { pattern: '^x' } }),
      { id: 'y' },
      ['/id The field "id" must be text that matches ^x, but it is "y".'],
    ],
    [
      'a format',
      object({ at: { type: 'string', format: 'date' } }),
      { at: 'x' },
      ['/at The field "at" must be a valid date, but it is "x".'],
    ],
    [
      'too long',
      object({ a: { type: 'string', maxLength: 1 } }),
      { a: 'xx' },
      ['/a The field "a" must be at most 1 character long, but it is "xx".'],
    ],
    ['a slash in a name', object({}), { 'a/b': 1 }, ['/a~1b The field "a.b" is not one of this tool\'s.']],
    [
      'of a union, the branch that was meant: the first',
      edits,
      { path: 'a', oldText: 'x' },
      ['/newText The field "newText" is missing; it must be a string.'],
    ],
    [
      'of a union, the branch that was meant: the second',
      edits,
      { path: 'a', edits: [{ oldText: 1, newText: '' }] },
      ['/edits/0/oldText The field "edits.0.oldText" must be a string, but it is 1.'],
    ],
    [
      'of a union, no branch',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      true,
      [' The input must be a string, but it is true.'],
    ],
  ])('%s', (_name, schema, input, messages) => {
    expect(errorsOf(schema, input)).toEqual(messages);
  });

  test('a near miss is named', () => {
    const [error] = check(
      'near',
      { ...readFile, inputSchema: edits },
      { path: 'a', old_text: 'x', newText: '' },
    ).filter(({ path }) => path === '/old_text');
    expect(error?.advice).toBe('Use "oldText", or leave it out, and call again.');
  });

  test('a long value is cut, visibly', () => {
    expect(errorsOf(readFile.inputSchema, { path: 'a', limit: 'x'.repeat(500) })[0]).toContain(
      '(502 characters)',
    );
  });

  test('a flood of errors is a few', () => {
    const list = { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } };
    expect(
      errorsOf(
        list,
        Array.from({ length: 5000 }, (_, index) => index),
      ).length,
    ).toBeLessThanOrEqual(8);
  });
});

describe('a fit', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['plain', readFile.inputSchema, { path: 'a', limit: 1 }],
    ['each branch of a union', edits, { path: 'a', edits: [{ oldText: '', newText: '' }] }],
    [
      '2020-12 words',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] },
      ['a'],
    ],
    [
      'a draft-07 schema',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] },
      ['a'],
    ],
    ['unknown words and formats', { type: 'string', format: 'x-own', 'x-order': 1 }, 'a'],
  ])('%s', (_name, schema, input) => {
    expect(errorsOf(schema, input)).toEqual([]);
  });

  test('nothing is converted and no default is filled in', () => {
    const input = { path: 'a' };
    check('d', { ...readFile, inputSchema: object({ path: {}, limit: { default: 5 } }) }, input);
    expect(input).toEqual({ path: 'a' });
  });

  test('two tools may use the same $id', () => {
    const schema = (type: string) => ({ $id: 'https://example.com/x', type });
    expect(errorsOf(schema('string'), 'a')).toEqual([]);
    expect(errorsOf(schema('number'), 1)).toEqual([]);
  });
});

test('a schema that is none fails the call and says whose fault it is', () => {
  expect(errorsOf({ type: 'nonsense' }, {})[0]).toContain(
    'registered with an input schema that cannot be used',
  );
  expect(errorsOf({ $ref: 'https://example.com/x' }, {})[0]).toContain('cannot be used');
});

test('a schema is compiled once', () => {
  const inputSchema = { type: 'object' };
  let reads = 0;
  const counting = {
    ...readFile,
    get inputSchema() {
      reads += 1;
      return inputSchema;
    },
  };
  check('once', counting, {});
  check('once', counting, {});
  expect(reads).toBe(1);
});
