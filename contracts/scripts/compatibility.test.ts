/** Plants changes of each kind in the real schemas and proves the verdict of each. */
import { describe, expect, test } from 'vitest';
import { adviceFor, incompatibilities } from './compatibility.ts';
import { schemaFiles } from './output/files.ts';
import type { JsonSchema } from './output/json-schema.ts';

type Edit = (schema: JsonSchema) => void;

/** The schemas of today, in the place of a release. */
const CURRENT = schemaFiles();
const FILE = 'events/tool.execution.completed.v1.json';

/** What the check says when one schema of a release becomes another. */
function after(file: string, edit: Edit): string[] {
  const changed = structuredClone(CURRENT.get(file));
  if (!changed) throw new Error(`no ${file}`);
  edit(changed);
  return incompatibilities(CURRENT, new Map([...CURRENT, [file, changed]])).map(
    ({ at, what }) => `${at}: ${what}`,
  );
}

/** The node at a path of property names; alternatives of a union are looked through. */
function at(schema: JsonSchema, ...path: string[]): JsonSchema {
  return path.reduce((node, name) => {
    const object = objectIn(node);
    const next = object?.properties?.[name];
    if (!next) throw new Error(`no property ${name}`);
    return next;
  }, schema);
}

function objectIn(node: JsonSchema): JsonSchema | undefined {
  if (node.properties) return node;
  const inside = [...(node.anyOf ?? node.oneOf ?? []), ...(node.items ? [node.items] : [])];
  return inside.map(objectIn).find((found) => found && !found.properties?.$artifact);
}

const data = (schema: JsonSchema, ...path: string[]): JsonSchema => at(schema, 'data', ...path);

function remove(node: JsonSchema, name: string): void {
  const object = objectIn(node);
  delete object?.properties?.[name];
  if (object?.required) object.required = object.required.filter((it) => it !== name);
}

function add(node: JsonSchema, name: string, schema: JsonSchema, required = false): void {
  const object = objectIn(node);
  if (object?.properties) object.properties[name] = schema;
  if (required) object?.required?.push(name);
}

test('a release is compatible with itself', () => {
  expect(incompatibilities(CURRENT, schemaFiles())).toEqual([]);
});

describe('incompatible', () => {
  test('a type that is gone (C1)', () => {
    const less = new Map([...CURRENT].filter(([path]) => path !== FILE));
    expect(incompatibilities(CURRENT, less)).toEqual([
      { file: FILE, at: '', what: 'was released and is gone (C1)' },
    ]);
  });

  test('a version that is gone (C1)', () => {
    const schema = CURRENT.get(FILE) ?? {};
    const next = new Map([...CURRENT, ['events/tool.execution.completed.v2.json', schema] as const]);
    next.delete(FILE);
    expect(incompatibilities(CURRENT, next)).toHaveLength(1);
  });

  const CASES: [string, string, Edit, RegExp][] = [
    [
      'a property that is gone',
      FILE,
      (it) => remove(data(it), 'signal'),
      /properties\/signal: .*gone \(C2\)/,
    ],
    [
      'a property of a part that is gone',
      FILE,
      (it) => remove(data(it, 'output'), 'omittedBytes'),
      /omittedBytes.*\(C2\)/,
    ],
    [
      'a new property that is required',
      FILE,
      (it) => add(data(it), 'cpuMs', { type: 'number' }, true),
      /cpuMs: has come and is required \(C2\)/,
    ],
    [
      'an optional property that becomes required',
      FILE,
      (it) => data(it).required?.push('probe'),
      /probe: was optional and is required \(C2\)/,
    ],
    [
      'an attribute of the envelope that becomes required',
      FILE,
      (it) => it.required?.push('traceparent'),
      /traceparent.*\(C2\)/,
    ],
    [
      'another type',
      FILE,
      (it) => Object.assign(data(it, 'durationMs'), { type: 'string' }),
      /durationMs: was number and is string \(C3/,
    ],
    [
      'a number that becomes an integer',
      FILE,
      (it) => Object.assign(data(it, 'durationMs'), { type: 'integer' }),
      /\(C3/,
    ],
    ['null that is no longer taken', FILE, (it) => dropNull(data(it, 'exitCode')), /exitCode.*\(C3\)/],
    [
      'an input that was anything',
      'events/tool.intent.v1.json',
      (it) => Object.assign(data(it, 'rawInput'), { type: 'object' }),
      /rawInput: was anything.*\(C3/,
    ],
    [
      'a lower limit that rises',
      FILE,
      (it) => Object.assign(data(it, 'epoch'), { minimum: 1 }),
      /epoch: minimum was 0 and is 1 \(C3\)/,
    ],
    [
      'an upper limit that comes',
      FILE,
      (it) => Object.assign(data(it, 'durationMs'), { maximum: 10 }),
      /maximum was not set and is 10 \(C3\)/,
    ],
    [
      'a list that must not be empty',
      FILE,
      (it) => Object.assign(arrayIn(data(it, 'output')), { minItems: 1 }),
      /minItems.*\(C3\)/,
    ],
    [
      'a pattern that comes',
      FILE,
      (it) => Object.assign(it.properties?.source ?? {}, { pattern: '^x$' }),
      /source: pattern.*\(C3\)/,
    ],
    [
      'a pattern that changes',
      FILE,
      (it) => Object.assign(data(it, 'pool'), { pattern: '^[a-z]+$' }),
      /pool: pattern.*\(C3\)/,
    ],
    [
      'unknown keys that are refused',
      FILE,
      (it) => Object.assign(data(it), { additionalProperties: false }),
      /unknown keys.*\(C1\)/,
    ],
    [
      'a value of an enum that is gone',
      FILE,
      (it) => values(data(it, 'outcome')).pop(),
      /the value "indeterminate" has gone \(C4\)/,
    ],
    [
      'a value that comes where readers branch',
      FILE,
      (it) => values(data(it, 'outcome')).push('skipped'),
      /the value "skipped" has come.*\(C4\)/,
    ],
    [
      'a free string that becomes an enum',
      'rpc/query.sessions.reply.v1.json',
      (it) => Object.assign(at(replyOf(it), 'sessions', 'status'), { enum: ['idle'] }),
      /status: was free.*\(C3\)/,
    ],
    [
      'a code that is gone',
      FILE,
      (it) => values(data(it, 'code')).pop(),
      /code: the value "cancelled" has gone \(C4\)/,
    ],
    [
      'another constant',
      FILE,
      (it) => Object.assign(it.properties?.specversion ?? {}, { const: '2.0' }),
      /the constant "1.0" has gone \(C4\)/,
    ],
    [
      'a variant that is gone',
      'events/model.message.v1.json',
      (it) => variants(data(it, 'parts')).pop(),
      /type: "provider".*gone \(C3\)/,
    ],
    [
      'a variant that comes',
      'events/model.message.v1.json',
      (it) => variants(data(it, 'parts')).push(VIDEO),
      /a variant type: "video" has come.*\(C4\)/,
    ],
    [
      'a variant that changes',
      'events/model.message.v1.json',
      (it) => remove(variants(data(it, 'parts'))[0] ?? {}, 'text'),
      /\(type: "text"\)\/properties\/text: .*\(C2\)/,
    ],
    [
      'another lane',
      FILE,
      (it) => Object.assign(it['x-interlock'] as object, { lane: 's' }),
      /lane was i and is s \(C5\)/,
    ],
    [
      'another subject',
      FILE,
      (it) => Object.assign(it.properties?.subject ?? {}, { pattern: '^ev\\.v2' }),
      /subject: pattern.*\(C5\)/,
    ],
    [
      'no signature any more',
      FILE,
      (it) => Object.assign(it['x-interlock'] as object, { signed: false }),
      /signed was true and is false \(C5\)/,
    ],
    [
      'somebody who may no longer append it',
      FILE,
      (it) => Object.assign(it['x-interlock'] as object, { appendedBy: ['executor'] }),
      /observer may no longer append it \(C5\)/,
    ],
    [
      'a request that demands more',
      'rpc/query.lane.request.v1.json',
      (it) => add(it, 'tenant', { type: 'string' }, true),
      /tenant.*\(C2\)/,
    ],
    [
      'a value that a request no longer takes',
      'rpc/preflight.request.v1.json',
      (it) => values(at(it, 'mode')).pop(),
      /mode.*gone \(C4\)/,
    ],
    [
      'a reply that says less',
      'rpc/query.lane.reply.v1.json',
      (it) => remove(replyOf(it), 'tail'),
      /tail.*\(C2\)/,
    ],
    ['a signal that says less', 'rpc/live.chunk.v1.json', (it) => remove(it, 'index'), /index.*\(C2\)/],
  ];

  test.each(CASES)('%s', (_what, file, edit, expected) => {
    expect(after(file, edit)).toEqual([expect.stringMatching(expected)]);
  });
});

describe('compatible', () => {
  const CASES: [string, string, Edit][] = [
    ['a new optional property', FILE, (it) => add(data(it), 'cpuMs', { type: 'number' })],
    [
      'a new optional property of a part',
      FILE,
      (it) => add(data(it, 'output'), 'encoding', { type: 'string' }),
    ],
    ['a new optional attribute of the envelope', FILE, (it) => add(it, 'partitionkey', { type: 'string' })],
    ['a required property that becomes optional', FILE, (it) => data(it).required?.shift()],
    ['an integer that becomes a number', FILE, (it) => Object.assign(data(it, 'epoch'), { type: 'number' })],
    ['null that may come', FILE, (it) => orNull(data(it), 'worker')],
    ['anything that may come', FILE, (it) => empty(data(it, 'durationMs'))],
    [
      'a lower limit that falls or goes',
      FILE,
      (it) => {
        delete data(it, 'epoch').minimum;
      },
    ],
    [
      'a list that may be empty',
      'events/tool.validation_failed.v1.json',
      (it) => Object.assign(arrayIn(data(it, 'errors')), { minItems: 0 }),
    ],
    [
      'a pattern that goes',
      FILE,
      (it) => {
        delete data(it, 'pool').pattern;
      },
    ],
    ['a new error code', FILE, (it) => values(data(it, 'code')).push('out_of_memory')],
    [
      'a new error code where one is required',
      'events/model.failed.v1.json',
      (it) => values(data(it, 'category')).push('quota'),
    ],
    [
      'an enum that becomes free',
      FILE,
      (it) => {
        delete data(it, 'outcome').enum;
      },
    ],
    [
      'a value that comes in a request',
      'rpc/preflight.request.v1.json',
      (it) => values(at(it, 'mode')).push('plan'),
    ],
    [
      'other words',
      FILE,
      (it) => Object.assign(data(it, 'pool'), { description: 'other', title: 'other', examples: ['fs'] }),
    ],
    [
      'another default',
      'events/tool.answer.v1.json',
      (it) => Object.assign(data(it, 'scope'), { default: 'session' }),
    ],
    [
      'somebody else who may append it',
      FILE,
      (it) =>
        Object.assign(it['x-interlock'] as object, { appendedBy: ['executor', 'observer', 'validator'] }),
    ],
    ['a new message', FILE, () => undefined],
  ];

  test.each(CASES)('%s', (_what, file, edit) => {
    expect(after(file, edit)).toEqual([]);
  });

  test('a value that comes in an optional field', () => {
    const release = (values: string[]): Map<string, JsonSchema> =>
      new Map([
        ['events/x.v1.json', { type: 'object', properties: { hint: { type: 'string', enum: values } } }],
      ]);
    expect(incompatibilities(release(['a']), release(['a', 'b']))).toEqual([]);
    expect(incompatibilities(release(['a', 'b']), release(['a']))).toHaveLength(1);
  });

  test('a new type, version or RPC', () => {
    const more = new Map([...CURRENT, ['events/agent.started.v1.json', { type: 'object' }] as const]);
    expect(incompatibilities(CURRENT, more)).toEqual([]);
  });
});

test('the message says what to do', () => {
  const advice = adviceFor({ file: FILE, at: '/properties/data', what: 'is gone (C2)' }, '0.1.0');
  expect(advice).toContain('against release 0.1.0');
  expect(advice).toContain('make a new version');
  expect(advice).toContain('upcast');
});

const VIDEO: JsonSchema = {
  type: 'object',
  properties: { type: { type: 'string', const: 'video' }, uri: { type: 'string' } },
  required: ['type', 'uri'],
};

function values(node: JsonSchema): string[] {
  const found = node.enum as string[] | undefined;
  if (!found) throw new Error('no enum');
  return found;
}

function arrayIn(node: JsonSchema): JsonSchema {
  return node.type === 'array' ? node : (node.anyOf?.find(({ type }) => type === 'array') ?? {});
}

function variants(node: JsonSchema): JsonSchema[] {
  const found = arrayIn(node).items?.oneOf;
  if (!found) throw new Error('no variants');
  return found;
}

/** The reply that is no error. */
function replyOf(schema: JsonSchema): JsonSchema {
  return schema.anyOf?.[0] ?? {};
}

function dropNull(node: JsonSchema): void {
  if (node.anyOf) node.anyOf = node.anyOf.filter(({ type }) => type !== 'null');
}

function orNull(node: JsonSchema, name: string): void {
  const old = at(node, name);
  if (node.properties) node.properties[name] = { anyOf: [...(old.anyOf ?? [old]), { type: 'null' }] };
}

function empty(node: JsonSchema): void {
  for (const keyword of Object.keys(node)) delete node[keyword];
}
