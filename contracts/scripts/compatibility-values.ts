/** What may change in one value: its type, its enum, its limits. The rules stand in `compatibility.ts`. */
import type { JsonSchema } from './output/json-schema.ts';

export interface Change {
  /** JSON pointer into the schema; empty for the whole. */
  readonly at: string;
  readonly what: string;
}

/** Where two nodes are compared. */
export interface Place {
  /** The whole schemas, for their `$defs`. */
  readonly released: JsonSchema;
  readonly current: JsonSchema;
  readonly isRequest: boolean;
  readonly at: string;
  /** The value must be there: readers branch on it. */
  readonly required: boolean;
}

/** C3: the type of a value. */
export function typeChanges(was: JsonSchema, is: JsonSchema, { at }: Place): Change[] {
  if (isAnything(is)) return [];
  if (isAnything(was)) return [{ at, what: 'was anything and is no longer (C3: type)' }];
  const before = kindOf(was);
  const now = kindOf(is);
  // Every integer is a number.
  if (before === now || (before === 'integer' && now === 'number')) return [];
  return [{ at, what: `was ${before} and is ${now} (C3: type)` }];
}

/** Nothing but words about it: any value will do. */
function isAnything(node: JsonSchema): boolean {
  const words = ['description', 'title', 'default', 'examples'];
  return Object.keys(node).every((keyword) => words.includes(keyword));
}

function kindOf(node: JsonSchema): string {
  if (typeof node.type === 'string') return node.type;
  return node.const === undefined ? 'of no one type' : typeof node.const;
}

/** C4: the values of an enum, or the constant. */
export function valueChanges(was: JsonSchema, is: JsonSchema, { at, required, isRequest }: Place): Change[] {
  const before = valuesOf(was);
  const now = valuesOf(is);
  if (!now) return [];
  if (!before) return [{ at, what: 'was free and is now limited to values (C3)' }];
  const constant = was.const !== undefined;
  const gone = before.filter((value) => !now.includes(value));
  const come = now.filter((value) => !before.includes(value));
  const mayCome = constant || !required || isRequest || (was['x-codes'] === true && is['x-codes'] === true);
  return [
    ...gone.map((value) => ({ at, what: `the ${constant ? 'constant' : 'value'} ${value} has gone (C4)` })),
    ...(mayCome ? [] : come).map((value) => ({
      at,
      what: `the value ${value} has come where readers branch (C4)`,
    })),
  ];
}

function valuesOf(node: JsonSchema): string[] | null {
  if (node.const !== undefined) return [JSON.stringify(node.const)];
  const values = node.enum;
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : null;
}

const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const FIXED = ['pattern', 'format', 'propertyNames', 'multipleOf', 'uniqueItems'];

/** C3, and C5 for the subject: limits, patterns and formats. */
export function limitChanges(was: JsonSchema, is: JsonSchema, { at }: Place): Change[] {
  const tighter = (name: string, sign: 1 | -1): boolean =>
    is[name] !== undefined && (was[name] === undefined || sign * (Number(is[name]) - Number(was[name])) > 0);
  const fixed = (name: string): boolean =>
    is[name] !== undefined && JSON.stringify(is[name]) !== JSON.stringify(was[name]);
  const names = [
    ...LOWER.filter((name) => tighter(name, 1)),
    ...UPPER.filter((name) => tighter(name, -1)),
    ...FIXED.filter(fixed),
  ];
  return names.map((name) => ({
    at,
    what: `${name} was ${JSON.stringify(was[name]) ?? 'not set'} and is ${JSON.stringify(is[name])} (${at === '/properties/subject' ? 'C5' : 'C3'})`,
  }));
}
