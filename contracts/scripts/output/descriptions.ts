/**
 * Descriptions of schemas and their fields, read from the comments above them: zod keeps none at run time.
 *
 * Rests on the formatter: one field a line, deeper fields indented further. What it does not find has no description.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import * as approval from '../../src/approval/v1.ts';
import * as context from '../../src/context/v1.ts';
import * as envelope from '../../src/envelope.ts';
import * as execution from '../../src/execution/v1.ts';
import * as ids from '../../src/ids.ts';
import * as intent from '../../src/intent/v1.ts';
import * as model from '../../src/model/v1.ts';
import * as observation from '../../src/observation/v1.ts';
import * as rpc from '../../src/rpc/v1.ts';
import * as run from '../../src/run/v1.ts';
import * as session from '../../src/session/v1.ts';
import * as system from '../../src/system/v1.ts';
import * as tools from '../../src/tools/v1.ts';
import * as user from '../../src/user/v1.ts';
import type { JsonSchema } from './json-schema.ts';

const SRC = join(import.meta.dirname, '..', '..', 'src');
const FAMILIES = {
  approval,
  context,
  execution,
  intent,
  model,
  observation,
  rpc,
  run,
  session,
  system,
  tools,
  user,
};

interface Named extends Documentation {
  readonly name: string;
}

/** What the comments say of one exported schema. Paths are joined by `.`; a variant of a union is `#<index>`. */
interface Documentation {
  readonly text: string | undefined;
  readonly fields: ReadonlyMap<string, string>;
}

const MARK = 'x-documented-as';

/**
 * Marks the JSON Schema of a zod schema that has comments. Zod gives every use of a schema the same node until it is
 * done, so what belongs to one use can only be said afterwards, by `describeMarked`.
 */
export function markDocumented(zodSchema: unknown, json: JsonSchema): void {
  const { name } = documented().get(zodSchema) ?? {};
  if (name) json[MARK] = name;
}

/** Replaces the marks by descriptions; what is said of a field wins over what is said of its type. */
export function describeMarked(json: JsonSchema): void {
  for (const child of childrenOf(json)) describeMarked(child);
  const documentation = byName().get(String(json[MARK]));
  delete json[MARK];
  if (!documentation) return;
  if (documentation.text) json.description ??= documentation.text;
  describeFields(json, documentation.fields, []);
}

function childrenOf(json: JsonSchema): JsonSchema[] {
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = json;
  const others = [items, additionalProperties].filter((child) => typeof child === 'object');
  return [...Object.values(properties), ...others, ...anyOf, ...oneOf];
}

/** The comment above an exported schema. */
export function descriptionOf(schema: z.ZodType): string | undefined {
  return documented().get(schema)?.text;
}

function describeFields(
  json: JsonSchema,
  fields: ReadonlyMap<string, string>,
  path: readonly string[],
): void {
  for (const [name, property] of Object.entries(json.properties ?? {})) {
    const at = [...path, name];
    const text = fields.get(at.join('.'));
    if (text) property.description = text;
    describeFields(property, fields, at);
  }
  if (json.items) describeFields(json.items, fields, path);
  for (const [index, variant] of (json.anyOf ?? json.oneOf ?? []).entries()) {
    describeFields(variant, fields, path);
    describeFields(variant, fields, [...path, `#${index}`]);
  }
}

let known: ReadonlyMap<unknown, Named> | undefined;

function byName(): ReadonlyMap<string, Named> {
  return new Map(
    documented()
      .values()
      .map((documentation) => [documentation.name, documentation]),
  );
}

function documented(): ReadonlyMap<unknown, Named> {
  known ??= new Map(
    modules().flatMap(({ file, exports }) => pair(scan(readFileSync(file, 'utf8')), exports)),
  );
  return known;
}

interface Module {
  readonly file: string;
  readonly exports: object;
}

function modules(): Module[] {
  const families = Object.entries(FAMILIES).map(([name, exports]) => ({
    file: join(SRC, name, 'v1.ts'),
    exports,
  }));
  const unread = readdirSync(SRC, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && readdirSync(join(SRC, entry.name)).includes('v1.ts'))
    .filter(({ name }) => !Object.hasOwn(FAMILIES, name));
  if (unread.length > 0) throw new Error(`add ${unread.map(({ name }) => name).join(', ')} to FAMILIES`);
  return [
    ...families,
    { file: join(SRC, 'envelope.ts'), exports: envelope },
    { file: join(SRC, 'ids.ts'), exports: ids },
  ];
}

function pair(found: ReadonlyMap<string, Documentation>, exports: object): [unknown, Named][] {
  return Object.entries(exports).flatMap(([name, value]): [unknown, Named][] => {
    const documentation = found.get(name);
    return documentation && typeof value === 'object' ? [[value, { ...documentation, name }]] : [];
  });
}

interface Scan {
  readonly text: string | undefined;
  readonly fields: Map<string, string>;
  /** Where the scan stands: enclosing fields and variants with their indent. */
  stack: { indent: number; name: string }[];
  /** Variants seen so far, by the path that encloses them and their indent. */
  readonly variants: Map<string, number>;
}

/** Reads the comments of one source file, by the name of the export. */
export function scan(source: string): Map<string, Documentation> {
  const found = new Map<string, Documentation>();
  let current: Scan | null = null;
  let comment: string | undefined;
  for (const line of joinComments(source)) {
    const text = commentOf(line);
    if (text !== null) {
      comment = text;
      continue;
    }
    const name = /^export const (\w+) =/.exec(line)?.[1];
    if (name) {
      current = { text: comment, fields: new Map(), stack: [], variants: new Map() };
      found.set(name, current);
    } else if (/^\S/.test(line) && !/^[\])}]/.test(line)) current = null;
    else if (current) scanField(current, line, comment);
    if (line.trim() !== '') comment = undefined;
  }
  return found;
}

function scanField(scan: Scan, line: string, comment: string | undefined): void {
  const indent = line.length - line.trimStart().length;
  const field = /^\s+'?([\w$.]+)'?:/.exec(line)?.[1];
  const variant = /^\s+z\.(strictO|looseO|o)bject\(\{/.test(line);
  if (!field && !variant) return;
  scan.stack = scan.stack.filter((open) => open.indent < indent);
  const path = scan.stack.map(({ name }) => name);
  const name = field ?? `#${nextVariant(scan, path, indent)}`;
  scan.stack.push({ indent, name });
  if (comment) scan.fields.set([...path, name].join('.'), comment);
}

function nextVariant(scan: Scan, path: readonly string[], indent: number): number {
  const key = `${path.join('.')}@${indent}`;
  const next = scan.variants.get(key) ?? 0;
  scan.variants.set(key, next + 1);
  return next;
}

/** Lines, each comment of several lines in one. */
function joinComments(source: string): string[] {
  return source
    .replace(/\/\*\*[\s\S]*?\*\//g, (comment) =>
      comment.replace(/\s*\n\s*\*(?!\/) ?/g, ' ').replace(/\s*\n\s*/g, ' '),
    )
    .split('\n');
}

function commentOf(line: string): string | null {
  const match = /^\s*\/\*\*\s*(.*?)\s*\*\/\s*$/.exec(line);
  return match ? (match[1]?.replace(/\s+/g, ' ') ?? '') : null;
}
