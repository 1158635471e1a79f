/** The generated JSON Schemas say what the contracts say: judged by ajv, which knows nothing of zod. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEvent } from '@interlock/contracts';
import { eventExamples, rpcExamples, signalExamples } from '@interlock/contracts/testing';
import { Ajv2020 as Ajv, type Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';

type JsonObject = Record<string, unknown>;

const SCHEMAS = join(import.meta.dirname, '..', '..', 'contracts', 'schemas');

function validator(): Ajv2020 {
  const ajv = new Ajv({ strict: true, strictTypes: false, keywords: ['x-interlock', 'x-codes'] });
  formats.default(ajv);
  // A word of zod's; the pattern beside it says the same.
  ajv.addFormat('base64', true);
  for (const path of globSync('**/*.json', { cwd: SCHEMAS }))
    ajv.addSchema(JSON.parse(readFileSync(join(SCHEMAS, path), 'utf8')), path);
  return ajv;
}

const ajv = validator();
const isValid = (path: string, value: unknown): boolean => ajv.validate(path, value) === true;
const pathOf = (type: string): string => `events/${type}.v1.json`;

const accepted = eventExamples().filter(({ verdict }) => verdict === 'accept');
const rejected = eventExamples().filter(({ verdict }) => verdict === 'reject');
const others = [
  ...rpcExamples().map((it) => ({ ...it, file: `${it.name}.${it.side}` })),
  ...signalExamples().map((it) => ({ ...it, file: it.name })),
];

describe('events', () => {
  test.each(accepted)('takes $path', ({ name, json }) => {
    isValid(pathOf(name), json);
    expect(ajv.errors ?? []).toEqual([]);
  });

  // What no schema of one message can say: that an attribute agrees with the subject.
  const BEYOND = /(tenant or session|intent|pool) differs? from its subject/;

  test.each(rejected)('refuses $path', ({ name, json }) => {
    const parsed = parseEvent(json, String((json as JsonObject).subject));
    const reason = parsed.ok ? '' : parsed.reason;
    expect(isValid(pathOf(name), json)).toBe(BEYOND.test(reason));
  });
});

test.each(others)('$path is taken or refused as zod does', ({ file, verdict, json }) => {
  expect(isValid(`rpc/${file}.v1.json`, json)).toBe(verdict === 'accept');
});

describe('what is stored apart', () => {
  const json = accepted.find(({ name }) => name === 'model.message')?.json as JsonObject;
  const data = json.data as JsonObject;
  const reference = { $artifact: `artifact://${'a'.repeat(64)}`, sizeBytes: 70_000 };
  const withData = (changed: JsonObject): JsonObject => ({ ...json, data: { ...data, ...changed } });

  test('a long text in a part', () => {
    const parts = [{ type: 'text', text: { ...reference, encoding: 'text' } }];
    expect(isValid(pathOf('model.message'), withData({ parts, $spilled: ['/parts/0/text'] }))).toBe(true);
  });

  test('a whole field', () => {
    const parts = { ...reference, encoding: 'json' };
    expect(isValid(pathOf('model.message'), withData({ parts, $spilled: ['/parts'] }))).toBe(true);
  });

  test.each([
    ['a number', { attempt: { ...reference, encoding: 'json' } }],
    ['an id', { contextSnapshotId: { ...reference, encoding: 'text' } }],
    ['a path for an address', { parts: { ...reference, $artifact: '/tmp/x', encoding: 'json' } }],
    ['a list that is no list of pointers', { $spilled: '/parts' }],
  ])('but not %s', (_what, changed) => {
    expect(isValid(pathOf('model.message'), withData(changed))).toBe(false);
  });
});
