/**
 * Commands against rules. Pure.
 *
 * C1. What lets a command pass looks at the line as a whole: one plain command without anything that a shell would
 *     expand, chain, redirect or set before it.
 * C2. What stops a command looks at every command that the line or the assessment names, by the program's own name,
 *     whatever its path, quoting, wrapper or leading assignments.
 */
import type { Assessment } from '@interlock/contracts';
import { commandsIn } from './shell-words.ts';

export interface CommandTest {
  readonly exact: readonly string[];
  readonly prefixes: readonly (readonly string[])[];
  readonly programs: readonly string[];
}

export interface CommandFacts {
  /** The command line of the input; null when the tool takes none. */
  readonly line: string | null;
  readonly parts: Assessment['commands'];
}

/** For rules that allow. */
export function coversLine(test: CommandTest, { line, parts }: CommandFacts): boolean {
  if (line === null) return false;
  const trimmed = line.trim();
  if (test.exact.includes(trimmed)) return true;
  if (parts.length !== 1) return false;
  const words = plainWords(trimmed);
  if (words === null) return false;
  return test.prefixes.some((prefix) => beginsWith(words, prefix)) || test.programs.includes(words[0] ?? '');
}

/** For rules that ask or deny. */
export function touchesLine(test: CommandTest, { line, parts }: CommandFacts): boolean {
  if (line !== null && test.exact.includes(line.trim())) return true;
  const found = commandsOf(line, parts);
  return (
    parts.some(({ program }) => test.programs.includes(program.slice(program.lastIndexOf('/') + 1))) ||
    found.some(
      (words) =>
        test.programs.includes(words[0] ?? '') ||
        test.exact.includes(words.join(' ')) ||
        test.prefixes.some((prefix) => beginsWith(words, prefix)),
    )
  );
}

type Commands = readonly (readonly string[])[];

/** By the parts of an assessment: many rules ask about one call. */
const remembered = new WeakMap<
  CommandFacts['parts'],
  { readonly line: string | null; readonly found: Commands }
>();

function commandsOf(line: string | null, parts: CommandFacts['parts']): Commands {
  const known = remembered.get(parts);
  if (known && known.line === line) return known.found;
  const texts = new Set([...(line === null ? [] : [line]), ...parts.map(({ text }) => text)]);
  const found = [...texts].flatMap((text) => commandsIn(text));
  remembered.set(parts, { line, found });
  return found;
}

function beginsWith(words: readonly string[], prefix: readonly string[]): boolean {
  return (
    prefix.length > 0 && prefix.length <= words.length && prefix.every((word, index) => words[index] === word)
  );
}

/** Splits a prefix of a rule into its words. */
export function wordsOf(text: string): readonly string[] {
  return text.trim().split(/[ \t]+/);
}

/** Words of a line in which a shell would do nothing but split it; null for any other. */
function plainWords(line: string): readonly string[] | null {
  if (!/^[A-Za-z0-9_./:@%+,=~ \t'"-]*$/.test(line) || !isClosed(line)) return null;
  const words = line
    .match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)
    ?.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
  // An assignment before the program changes what runs.
  return words === undefined || words[0]?.includes('=') ? null : words;
}

/** Every quote is closed. */
function isClosed(line: string): boolean {
  return !/['"]/.test(line.replace(/'[^']*'|"[^"]*"/g, ''));
}
