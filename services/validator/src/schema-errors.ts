/**
 * What a JSON Schema validator says, as sentences for a model: which field, what it must be, what to do. Pure.
 *
 * Of an `anyOf` or `oneOf` only the branch that fits best is reported: the other branches were not meant.
 */
import type { ValidationError } from '@interlock/contracts';
import type { ErrorObject } from 'ajv';
import { nearest } from './nearest.ts';

/** More errors than this help nobody. */
const MAX_ERRORS = 8;
/** Errors looked at: a long list of wrong items gives one for each. */
const MAX_CONSIDERED = 200;

export function explainErrors(errors: readonly ErrorObject[]): ValidationError[] {
  const told = new Map<string, ValidationError>();
  for (const error of meantErrors(errors.slice(0, MAX_CONSIDERED))) {
    const explained = explain(error);
    told.set(`${explained.path} ${explained.message}`, explained);
  }
  return [...told.values()].slice(0, MAX_ERRORS);
}

/** Leaves out the branches of unions that the caller did not mean, and the union's own complaint. */
function meantErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const union = errors.find(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  if (!union) return errors.filter(({ keyword }) => keyword !== 'if');
  const prefix = `${union.schemaPath}/`;
  const branches = Map.groupBy(
    errors.filter((error) => error.schemaPath.startsWith(prefix)),
    (error) => error.schemaPath.slice(prefix.length).split('/')[0] ?? '',
  );
  const rest = errors.filter((error) => error !== union && !error.schemaPath.startsWith(prefix));
  const best = [...branches.values()].sort((a, b) => misfit(union, a) - misfit(union, b))[0];
  if (!best) return meantErrors([...rest, { ...union, keyword: 'no branch fits' }]);
  return meantErrors([...rest, ...best]);
}

/** How badly a branch fits: an unknown field, or another kind of value, says louder than a missing one that it was not meant. */
function misfit(union: ErrorObject, errors: readonly ErrorObject[]): number {
  return errors.reduce((sum, error) => {
    if (error.instancePath !== union.instancePath) return sum + 1;
    if (error.keyword === 'type') return sum + 10;
    return sum + (error.keyword.endsWith('Properties') ? 4 : 2);
  }, 0);
}

interface Explanation {
  readonly path: string;
  readonly message: string;
  readonly advice: string;
}

function explain(error: ErrorObject): ValidationError {
  return { code: 'schema_mismatch', ...explanationOf(error) };
}

function explanationOf(error: ErrorObject): Explanation {
  const { instancePath: path } = error;
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
      return missing(error, String(params.missingProperty));
    case 'additionalProperties':
      return unknownField(error, String(params.additionalProperty));
    case 'unevaluatedProperties':
      return unknownField(error, String(params.unevaluatedProperty));
    case 'type':
      return mustBe(error, typeWords(params.type));
    case 'enum':
      return mustBe(error, `one of ${list(params.allowedValues)}`);
    case 'const':
      return mustBe(error, `${show(params.allowedValue)}`);
    case 'minLength':
      return mustBe(
        error,
        params.limit === 1 ? 'a text that is not empty' : `at least ${count(params.limit, 'character')} long`,
      );
    case 'maxLength':
      return mustBe(error, `at most ${count(params.limit, 'character')} long`);
    case 'minItems':
      return mustBe(error, `a list of at least ${count(params.limit, 'item')}`);
    case 'maxItems':
      return mustBe(error, `a list of at most ${count(params.limit, 'item')}`);
    case 'minimum':
      return mustBe(error, `${params.limit} or more`);
    case 'maximum':
      return mustBe(error, `${params.limit} or less`);
    case 'exclusiveMinimum':
      return mustBe(error, `more than ${params.limit}`);
    case 'exclusiveMaximum':
      return mustBe(error, `less than ${params.limit}`);
    case 'pattern':
      return mustBe(error, `text that matches ${String(params.pattern)}`);
    case 'format':
      return mustBe(error, `a valid ${String(params.format)}`);
    case 'uniqueItems':
      return mustBe(error, 'a list without repeats');
    default:
      return {
        path,
        message: `${named(path)} ${error.message ?? 'does not fit the schema'}.`,
        advice: 'Look at the input schema of the tool, correct this field and call again.',
      };
  }
}

function missing(error: ErrorObject, field: string): Explanation {
  const { type, description } = propertyOf(error, field);
  const what = type === undefined ? '' : `; it must be ${type}`;
  const about = description === undefined ? '' : ` (${description})`;
  return {
    path: `${error.instancePath}/${escapePointer(field)}`,
    message: `${named(`${error.instancePath}/${field}`)} is missing${what}${about}.`,
    advice: `Add "${field}"${type === undefined ? '' : ` (${type})`} and call again.`,
  };
}

function unknownField(error: ErrorObject, field: string): Explanation {
  const known = Object.keys(propertiesOf(error));
  const meant = nearest(field, known);
  return {
    path: `${error.instancePath}/${escapePointer(field)}`,
    message: `${named(`${error.instancePath}/${field.slice(0, 80)}`)} is not one of this tool's${known.length > 0 ? `; it takes ${known.map((name) => `"${name}"`).join(', ')}` : ''}.`,
    advice:
      meant === null ? 'Leave it out and call again.' : `Use "${meant}", or leave it out, and call again.`,
  };
}

function mustBe(error: ErrorObject, what: string): Explanation {
  const { instancePath: path } = error;
  return {
    path,
    message: `${named(path)} must be ${what}, but it is ${show(error.data)}.`,
    advice: `Correct ${path === '' ? 'the input' : `"${lastOf(path)}"`} and call again.`,
  };
}

function count(limit: unknown, noun: string): string {
  return `${limit} ${noun}${limit === 1 ? '' : 's'}`;
}

function named(path: string): string {
  return path === '' ? 'The input' : `The field "${path.slice(1).replaceAll('/', '.')}"`;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function typeWords(type: unknown): string {
  const types = Array.isArray(type) ? type : [type];
  return types.map((word) => TYPE_WORDS[String(word)] ?? String(word)).join(' or ');
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

function propertiesOf(error: ErrorObject): Readonly<Record<string, unknown>> {
  const { properties } = asObject(error.parentSchema);
  return asObject(properties);
}

function propertyOf(error: ErrorObject, field: string): { type?: string; description?: string } {
  const { type, description } = asObject(propertiesOf(error)[field]);
  return {
    ...(type === undefined ? {} : { type: typeWords(type) }),
    ...(typeof description === 'string' ? { description: description.slice(0, 120).replace(/\.$/, '') } : {}),
  };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(values: unknown): string {
  return Array.isArray(values) ? values.map(show).join(', ') : show(values);
}

/** A value in few words: long ones are cut, and say so. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value) && value.length > 0) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return 'an object';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}… (${text.length} characters)` : text;
}

function escapePointer(field: string): string {
  return field.slice(0, 80).replaceAll('~', '~0').replaceAll('/', '~1');
}
