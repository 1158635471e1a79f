/**
 * Commands against rules. Pure.
 *
 * C1. What lets a command pass looks at the line as a whole: one plain command without anything that a shell would
 *     expand, chain, redirect or set before it.
 * C2. What stops a command looks at every part that the assessment found, by the program's own name, whatever its path,
 *     quoting or leading assignments.
 */
import type { Assessment } from '@interlock/contracts';

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
  const whole = line === null ? [] : [{ words: leadingWords(line), program: null }];
  const found = parts.map(({ text, program }) => ({ words: leadingWords(text), program: baseName(program) }));
  return [...whole, ...found].some(({ words, program }) => {
    const name = program ?? baseName(words[0] ?? '');
    const called = [name, ...words.slice(1)];
    return (
      test.programs.includes(name) ||
      test.exact.includes(words.join(' ')) ||
      test.prefixes.some((prefix) => beginsWith(called, prefix) || beginsWith(words, prefix))
    );
  });
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
  if (!/^[A-Za-z0-9_./:@%+,=~ \t'"-]*$/.test(line)) return null;
  const words = splitQuoted(line);
  // An assignment before the program changes what runs; `~` is expanded only where it begins a word.
  return words === null || words[0]?.includes('=') ? null : words;
}

/** Words with quotes and backslashes taken away and assignments in front left out; as far as that can be said. */
function leadingWords(text: string): readonly string[] {
  const words = splitQuoted(text.trim().slice(0, 4096)) ?? text.trim().split(/\s+/);
  const first = words.findIndex((word) => !/^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(word));
  return first < 0 ? [] : words.slice(first);
}

/** Null when a quote is not closed. */
function splitQuoted(line: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? '';
    if (quote !== null) {
      if (char === quote) quote = null;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (char === '\\') {
      index++;
      word = (word ?? '') + (line[index] ?? '');
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + char;
    }
  }
  if (word !== null) words.push(word);
  return quote === null ? words : null;
}

function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}
