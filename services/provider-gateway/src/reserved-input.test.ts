import { describe, expect, test } from 'vitest';
import { restoreReserved, stripReserved, withReserved } from './reserved-input.ts';

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false,
};
const OWN = { type: 'object', properties: { _reason: { type: 'number' } } };

describe('on the wire', () => {
  test('both are optional properties beside the tool’s own', () => {
    const schema = withReserved(SCHEMA);
    expect(Object.keys(schema.properties as object)).toEqual(['path', '_reason', '_expect']);
    expect(schema.required).toEqual(['path']);
  });
  test('a property of the tool itself is left alone', () => {
    expect(withReserved(OWN).properties).toMatchObject({
      _reason: { type: 'number' },
      _expect: { type: 'string' },
    });
  });
  test('a schema without properties gets them', () => {
    expect(Object.keys(withReserved({ type: 'object' }).properties as object)).toEqual([
      '_reason',
      '_expect',
    ]);
  });
});

describe('taken off again', () => {
  test('they never reach the input', () => {
    expect(stripReserved({ path: 'a', _reason: 'r', _expect: 'e' }, SCHEMA)).toEqual({
      input: { path: 'a' },
      reason: 'r',
      expect: 'e',
    });
  });
  test('also where they are no text', () => {
    expect(stripReserved({ path: 'a', _reason: 7, _expect: '' }, SCHEMA)).toEqual({ input: { path: 'a' } });
  });
  test('also for a tool that is not known', () => {
    expect(stripReserved({ _reason: 'r' }, undefined)).toEqual({ input: {}, reason: 'r' });
  });
  test('what the tool declares stays in the input', () => {
    expect(stripReserved({ _reason: 7, _expect: 'e' }, OWN)).toEqual({ input: { _reason: 7 }, expect: 'e' });
  });
  test.each([[[1, 2]], ['text'], [null], [3]])('an input that is no object is left alone: %j', (input) => {
    expect(stripReserved(input, SCHEMA)).toEqual({ input });
  });
});

test('put back, the model sees its own call again', () => {
  const { input, reason, expect: expected } = stripReserved({ path: 'a', _reason: 'r' }, SCHEMA);
  expect(restoreReserved(input as object as Record<string, unknown>, { reason, expect: expected })).toEqual({
    path: 'a',
    _reason: 'r',
  });
});
