/**
 * Whether the contracts of today may follow a released version of them without a new version of a message.
 *
 * A reader of today must take everything that was written before, a reader of the release most of what is written
 * today, and no field may change its meaning under an old name. So a released schema may only gain optional properties
 * and looser inputs:
 *
 * C1. No type, version, request, reply or signal goes; none is refused that was accepted.
 * C2. No property goes: an old message would lose it without a word. An optional property may come, a required one may not.
 *     An optional property does not become required; a required one may become optional.
 * C3. A type does not change. It may gain another (`null`, a second alternative); limits may be loosened, not tightened;
 *     a pattern or a format may go, not come or change.
 * C4. No value of an enum goes. One may come where the field is optional; where it is required readers branch on it, and
 *     one that is a release behind would put the whole message in quarantine. The same for a variant of a union that is
 *     told apart by a constant. Lists of error codes (`x-codes`) are open: a code may always come. A request goes to a
 *     reader of its own time, which answers what it does not know: there a value may come.
 * C5. Lane, subject and signature of a type do not change. Whoever may append it still may; another may be added.
 * C6. Descriptions, titles, defaults and examples say nothing about compatibility.
 */
import { type Change, limitChanges, type Place, typeChanges, valueChanges } from './compatibility-values.ts';
import type { JsonSchema } from './output/json-schema.ts';

export interface Incompatibility extends Change {
  /** Path of the schema's file. */
  readonly file: string;
}

/** Compares the schemas of today with those of a release, by their paths. */
export function incompatibilities(
  released: ReadonlyMap<string, JsonSchema>,
  current: ReadonlyMap<string, JsonSchema>,
): Incompatibility[] {
  return [...released].flatMap(([file, schema]) => {
    const now = current.get(file);
    if (!now) return [{ file, at: '', what: 'was released and is gone (C1)' }];
    const context = { released: schema, current: now, isRequest: file.includes('.request.') };
    const found = [
      ...contractChanges(schema, now),
      ...changes(schema, now, { ...context, at: '', required: true }),
    ];
    return found.map((it) => ({ file, ...it }));
  });
}

/** What to do about it, for people. */
export function adviceFor({ file, at, what }: Incompatibility, version: string): string {
  return [
    `${file}${at === '' ? '' : `, ${at}`}: ${what}, against release ${version}.`,
    '  A released version is never edited. Put this back and make a new version: src/<family>/v2.ts, the old one with an',
    '  upcast in `past` of the registry, a corpus for v2 (contracts/README.md). A new optional field needs none of it.',
  ].join('\n');
}

function contractChanges(released: JsonSchema, current: JsonSchema): Change[] {
  const before = contractOf(released);
  const now = contractOf(current);
  const changed = (['lane', 'signed'] as const)
    .filter((name) => before[name] !== now[name])
    .map((name) => `${name} was ${before[name]} and is ${now[name]} (C5)`);
  const lost = before.appendedBy
    .filter((role) => !now.appendedBy.includes(role))
    .map((role) => `${role} may no longer append it (C5)`);
  return [...changed, ...lost].map((what) => ({ at: '/x-interlock', what }));
}

function contractOf(schema: JsonSchema): { lane?: string; signed?: boolean; appendedBy: string[] } {
  return { appendedBy: [], ...(schema['x-interlock'] as object | undefined) };
}

/** Changes of a node that would refuse what was accepted, or surprise a reader. */
function changes(before: JsonSchema, now: JsonSchema, place: Place): Change[] {
  const was = resolve(before, place.released);
  const is = resolve(now, place.current);
  const alternatives = alternativesOf(was);
  if (alternatives || alternativesOf(is))
    return unionChanges(alternatives ?? [was], alternativesOf(is) ?? [is], place);
  return [
    ...typeChanges(was, is, place),
    ...valueChanges(was, is, place),
    ...limitChanges(was, is, place),
    ...propertyChanges(was, is, place),
    ...partChanges(was, is, place),
  ];
}

function resolve(node: JsonSchema, root: JsonSchema): JsonSchema {
  const name = /^#\/\$defs\/(\w+)$/.exec(String(node.$ref))?.[1];
  const definitions = root.$defs as Record<string, JsonSchema> | undefined;
  return (name && definitions?.[name]) || node;
}

function alternativesOf(node: JsonSchema): JsonSchema[] | undefined {
  return node.anyOf ?? node.oneOf;
}

/** Each alternative of before must still be taken by one of now; a new one that a constant tells apart is a new branch. */
function unionChanges(before: JsonSchema[], now: JsonSchema[], place: Place): Change[] {
  const best = before.flatMap((one) => {
    const tries = now.map((other) =>
      changes(one, other, { ...place, at: `${place.at}${labelOf(one, place)}` }),
    );
    return tries.find((it) => it.length === 0) ?? shortest(tries, nameOf(one, place));
  });
  const known = new Set(before.map((one) => tagOf(one, place.released)).filter((tag) => tag !== null));
  const fresh = now.map((one) => tagOf(one, place.current)).filter((tag) => tag !== null && !known.has(tag));
  const added = known.size > 0 && !place.isRequest ? fresh : [];
  return [
    ...best,
    ...added.map((tag) => ({
      at: place.at,
      what: `a variant ${tag} has come that readers do not know (C4)`,
    })),
  ];
}

function shortest(tries: Change[][], name: string): Change[] {
  const related = tries.filter((it) =>
    it.every(({ what }) => !what.includes('(C3: type)') && !what.includes('constant')),
  );
  const [closest] = related.toSorted((a, b) => a.length - b.length);
  return closest ?? [{ at: name, what: 'an alternative has gone (C3)' }];
}

/** The constant that tells a variant apart; null when there is none. */
function tagOf(node: JsonSchema, root: JsonSchema): string | null {
  const { properties = {}, required = [] } = resolve(node, root);
  const tag = Object.entries(properties).find(
    ([name, it]) => required.includes(name) && it.const !== undefined,
  );
  return tag ? `${tag[0]}: ${JSON.stringify(tag[1].const)}` : null;
}

function labelOf(node: JsonSchema, place: Place): string {
  const tag = tagOf(node, place.released);
  return tag ? `(${tag})` : '';
}

function nameOf(node: JsonSchema, place: Place): string {
  return `${place.at}${labelOf(node, place)}`;
}

function propertyChanges(was: JsonSchema, is: JsonSchema, place: Place): Change[] {
  const before = was.properties ?? {};
  const now = is.properties ?? {};
  const wasRequired = was.required ?? [];
  const isRequired = is.required ?? [];
  const pointer = (name: string): string => `${place.at}/properties/${name}`;
  const added = isRequired
    .filter((name) => !wasRequired.includes(name))
    .map((name) => ({
      at: pointer(name),
      what: `${Object.hasOwn(before, name) ? 'was optional and' : 'has come and'} is required (C2)`,
    }));
  const kept = Object.entries(before).flatMap(([name, property]): Change[] => {
    const next = Object.hasOwn(now, name) ? now[name] : undefined;
    if (!next) return [{ at: pointer(name), what: 'was a property and is gone (C2)' }];
    return changes(property, next, { ...place, at: pointer(name), required: wasRequired.includes(name) });
  });
  return [...added, ...kept];
}

function partChanges(was: JsonSchema, is: JsonSchema, place: Place): Change[] {
  const next = (name: string, required: boolean): Place => ({
    ...place,
    at: `${place.at}/${name}`,
    required,
  });
  const items = is.items ? changes(was.items ?? {}, is.items, next('items', true)) : [];
  const { additionalProperties: rest } = is;
  if (rest === false && was.additionalProperties !== false)
    return [...items, { at: place.at, what: 'unknown keys were taken and are refused (C1)' }];
  const others =
    typeof rest === 'object' ? changes(schemaOf(was), rest, next('additionalProperties', true)) : [];
  return [...items, ...others];
}

function schemaOf({ additionalProperties }: JsonSchema): JsonSchema {
  return typeof additionalProperties === 'object' ? additionalProperties : {};
}
