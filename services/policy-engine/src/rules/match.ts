/**
 * Whether a rule matches a call. Pure; everything a rule needs is compiled once, when its file is loaded.
 *
 * M1. Every condition that is given must hold.
 * M2. What lets pass must cover the whole call: every path, every host, the one command, nothing else.
 * M3. What stops needs to find its case once.
 * M4. A rule that allows covers what nobody understood (`unknown`) only where it says so, and a command named by its
 *     first words covers only harmless effects unless it names others.
 */
import type { Assessment, Effect, EvaluateRequestV1 } from '@interlock/contracts';
import { type CommandTest, coversLine, touchesLine, wordsOf } from './command.ts';
import { compileGlob, compileHost, compileWildcard, holdsWorkspace } from './paths.ts';
import { compileRegex, type Reach } from './regex.ts';
import type { Conditions, Rule } from './schema.ts';

/** What a decision is about: the same facts that remote engines get. */
export type Facts = EvaluateRequestV1;

export type FactTest = (facts: Facts) => boolean;

/** What a command that is named by its first words may do without the rule saying so. */
const HARMLESS: readonly Effect[] = ['read-only', 'runs-project-code'];

/** Throws for a glob or pattern that cannot be compiled. */
export function compileConditions(rule: Rule): FactTest {
  const { when } = rule;
  const reach: Reach = rule.decision === 'allow' ? 'covers' : 'touches';
  const tests: (FactTest | null)[] = [
    oneOf(when.tool, ({ tool }) => tool, compileWildcard),
    oneOf(when.mode, ({ mode }) => mode),
    oneOf(when.tenant, ({ tenant }) => tenant),
    oneOf(when.model, ({ model }) => model, compileWildcard),
    oneOf(when.person, ({ person }) => person),
    oneOf(when.sandbox, ({ sandboxLevel }) => sandboxLevel),
    effectsTest(when.effects),
    reach === 'covers' ? unstatedEffectsTest(when) : null,
    pathsTest(when.paths, reach),
    hostsTest(when.hosts, reach),
    commandTest(when.command, reach),
    inputTest(when.input, reach),
  ];
  const given = tests.filter((test) => test !== null);
  return (facts) => given.every((test) => test(facts));
}

/** One value or several, as several. */
function many<Value>(values: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(values) ? values : [values as Value];
}

function oneOf<Value extends string>(
  wanted: Value | readonly Value[] | undefined,
  actual: (facts: Facts) => string,
  compile: (value: string) => (text: string) => boolean = (value) => (text) => text === value,
): FactTest | null {
  if (wanted === undefined) return null;
  const tests = many(wanted).map(compile);
  return (facts) => tests.some((test) => test(actual(facts)));
}

function effectsTest(effects: Conditions['effects']): FactTest | null {
  if (effects === undefined) return null;
  const { anyOf, allOf, onlyOf, noneOf } = effects;
  const has = (list: Effect | readonly Effect[]) => (effect: Effect) => many(list).includes(effect);
  return ({ assessment: { effects: actual } }) =>
    (anyOf === undefined || actual.some(has(anyOf))) &&
    (allOf === undefined || many(allOf).every((effect) => actual.includes(effect))) &&
    (onlyOf === undefined || actual.every(has(onlyOf))) &&
    (noneOf === undefined || !actual.some(has(noneOf)));
}

function unstatedEffectsTest({ effects, command }: Conditions): FactTest | null {
  if (effects?.onlyOf !== undefined || command?.exact !== undefined) return null;
  if (command === undefined) return ({ assessment }) => !assessment.effects.includes('unknown');
  return ({ assessment }) => assessment.effects.every((effect) => HARMLESS.includes(effect));
}

function pathsTest(paths: Conditions['paths'], reach: Reach): FactTest | null {
  if (paths === undefined) return null;
  const { globs, access, inside, holdsWorkspace: holds } = paths;
  const tests = globs === undefined ? null : many(globs).map(compileGlob);
  const meant = access === undefined ? null : many(access);
  const matches = (path: Assessment['paths'][number], workspace: string): boolean =>
    (meant === null || meant.includes(path.access)) &&
    (inside === undefined || path.inside === inside) &&
    (tests === null || tests.some((test) => test(path.real, workspace))) &&
    (holds === undefined || holdsWorkspace(path.real, workspace));
  return ({ assessment, workspace }) =>
    everyOrSome(assessment.paths, reach, (path) => matches(path, workspace));
}

function hostsTest(hosts: Conditions['hosts'], reach: Reach): FactTest | null {
  if (hosts === undefined) return null;
  const tests = many(hosts).map(compileHost);
  return ({ assessment }) => everyOrSome(assessment.hosts, reach, (host) => tests.some((test) => test(host)));
}

/** What covers needs something to cover: a call without paths is not "all paths inside". */
function everyOrSome<Item>(items: readonly Item[], reach: Reach, test: (item: Item) => boolean): boolean {
  return reach === 'covers' ? items.length > 0 && items.every(test) : items.some(test);
}

function commandTest(command: Conditions['command'], reach: Reach): FactTest | null {
  if (command === undefined) return null;
  const { exact = [], prefix = [], program = [] } = command;
  const test: CommandTest = {
    exact: many(exact).map((line) => line.trim()),
    prefixes: many(prefix).map(wordsOf),
    programs: many(program),
  };
  return ({ input, assessment: { commands: parts } }) => {
    const facts = { line: lineOf(input), parts };
    return reach === 'covers' ? coversLine(test, facts) : touchesLine(test, facts);
  };
}

/** The command line of a tool that takes one. */
export function lineOf(input: unknown): string | null {
  const line = fieldOf(input, 'command');
  return typeof line === 'string' ? line : null;
}

function inputTest(conditions: Conditions['input'], reach: Reach): FactTest | null {
  if (conditions === undefined) return null;
  const tests = many(conditions).map(({ field, ...condition }) => {
    const test = valueTest(condition, reach);
    return (input: unknown): boolean => test(fieldOf(input, field));
  });
  return ({ input }) => tests.every((test) => test(input));
}

interface ValueCondition {
  readonly equals?: string | number | boolean | null | undefined;
  readonly glob?: string | undefined;
  readonly regex?: string | readonly string[] | undefined;
}

function valueTest({ equals, glob, regex }: ValueCondition, reach: Reach): (value: unknown) => boolean {
  if (regex !== undefined) {
    const tests = many(regex).map((pattern) => compileRegex(pattern, reach));
    return (value) => typeof value === 'string' && tests.some((test) => test(value));
  }
  if (glob !== undefined) {
    const test = compileWildcard(glob);
    return (value) => typeof value === 'string' && test(value);
  }
  return (value) => value === equals;
}

function fieldOf(input: unknown, field: string): unknown {
  let value = input;
  for (const name of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
