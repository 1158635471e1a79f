/**
 * The commands that a line of shell names, as far as its text tells. Pure.
 *
 * For rules that stop: it finds more than one command in a line, also behind wrappers, quotes and substitutions. It is
 * no judge of what a line does, and nothing is let pass on its word.
 */

/** Longer text and deeper nesting are not looked into. */
const MAX_LENGTH = 32_768;
const MAX_DEPTH = 6;

/** The words of every command that the line names, programs first. */
export function commandsIn(line: string, depth = 0): readonly (readonly string[])[] {
  if (depth > MAX_DEPTH) return [];
  const scanner = new Scanner(line.slice(0, MAX_LENGTH));
  const { commands, nested } = scanner.scan();
  const inner = nested.flatMap((text) => commandsIn(text, depth + 1));
  return [...commands.flatMap((words) => unwrap(words, depth)), ...inner];
}

/** Splits text into commands and their words, and collects what stands in substitutions. */
class Scanner {
  readonly #text: string;
  #at = 0;
  #word: string | null = null;
  #words: string[] = [];
  readonly #commands: string[][] = [];
  readonly #nested: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): { readonly commands: readonly (readonly string[])[]; readonly nested: readonly string[] } {
    while (this.#at < this.#text.length) this.#step();
    this.#endCommand();
    return { commands: this.#commands, nested: this.#nested };
  }

  #step(): void {
    const char = this.#text[this.#at] ?? '';
    const next = this.#text[this.#at + 1];
    if (char === "'") this.#quoted(this.#at + 1);
    else if (char === '$' && next === "'") this.#ansi();
    else if (char === '"') this.#double();
    else if (char === '\\') this.#take(next === '\n' ? '' : (next ?? ''), 2);
    else if ((char === '$' && next === '(') || char === '`') this.#substitution();
    else if (char === '#' && this.#word === null) this.#comment();
    else if (/[;&|()\n]/.test(char)) this.#break();
    else if (/\s/.test(char)) this.#space();
    else if (char === '<' || char === '>') this.#redirect();
    else this.#take(char, 1);
  }

  #take(text: string, length: number): void {
    this.#word = (this.#word ?? '') + text;
    this.#at += length;
  }

  #space(): void {
    this.#endWord();
    this.#at += 1;
  }

  #break(): void {
    this.#endCommand();
    this.#at += 1;
  }

  #comment(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  /** Up to the next single quote, as it stands. */
  #quoted(start: number): void {
    const end = this.#text.indexOf("'", start);
    const stop = end < 0 ? this.#text.length : end;
    this.#take(this.#text.slice(start, stop), stop + 1 - this.#at);
  }

  #ansi(): void {
    const match = /^\$'((?:\\[\s\S]|[^'\\])*)'?/.exec(this.#text.slice(this.#at));
    this.#take(decodeAnsi(match?.[1] ?? ''), Math.max(2, match?.[0].length ?? 2));
  }

  #double(): void {
    this.#take('', 1);
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') {
      const char = this.#text[this.#at] ?? '';
      const next = this.#text[this.#at + 1] ?? '';
      if (char === '\\' && /["\\$`]/.test(next)) this.#take(next, 2);
      else if ((char === '$' && next === '(') || char === '`') this.#substitution();
      else this.#take(char, 1);
    }
    this.#at += 1;
  }

  /** What is substituted is a line of its own; what it gives is not known. */
  #substitution(): void {
    const open = this.#text[this.#at] === '`' ? 1 : 2;
    const start = this.#at + open;
    const end = open === 1 ? this.#text.indexOf('`', start) : closing(this.#text, start);
    const stop = end < 0 ? this.#text.length : end;
    this.#nested.push(this.#text.slice(start, stop));
    this.#take('', stop + 1 - this.#at);
  }

  /** The target of a redirection is no word of the command; `<(` and `>(` begin another. */
  #redirect(): void {
    if (this.#word !== null && /^\d+$/.test(this.#word)) this.#word = null;
    this.#endWord();
    const match = /^[<>&|-]+[ \t]*(?!\()(?:'[^']*'|"[^"]*"|[^\s;&|()<>'"`$])*/.exec(
      this.#text.slice(this.#at),
    );
    this.#at += Math.max(1, match?.[0].length ?? 1);
  }

  #endWord(): void {
    if (this.#word !== null) this.#words.push(...expandBraces(this.#word));
    this.#word = null;
  }

  #endCommand(): void {
    this.#endWord();
    if (this.#words.length > 0) this.#commands.push(this.#words);
    this.#words = [];
  }
}

/** Where the parenthesis that is open at `start` closes; -1 when it does not. */
function closing(text: string, start: number): number {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** `{rm,-rf,build}` is three words. */
function expandBraces(word: string): readonly string[] {
  const inner = /^\{([^{}]*,[^{}]*)\}$/.exec(word)?.[1];
  return inner === undefined ? [word] : inner.split(',').filter((part) => part !== '');
}

const ANSI: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
};

function decodeAnsi(text: string): string {
  return text.replace(
    /\\(?:x(?<hex>[0-9a-fA-F]{1,2})|u(?<short>[0-9a-fA-F]{1,4})|U(?<long>[0-9a-fA-F]{1,8})|(?<octal>[0-7]{1,3})|(?<char>[\s\S]))/g,
    (...found) => decodeOne(found.at(-1) as AnsiEscape),
  );
}

type AnsiEscape = Partial<Record<'hex' | 'short' | 'long' | 'octal' | 'char', string>>;

function decodeOne({ hex, short, long, octal, char = '' }: AnsiEscape): string {
  const digits = hex ?? short ?? long;
  if (digits === undefined && octal === undefined) return ANSI[char] ?? char;
  const code = digits === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(digits, 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

const RESERVED = new Set([
  'if',
  'then',
  'else',
  'elif',
  'do',
  'while',
  'until',
  'time',
  '!',
  '{',
  '}',
  'coproc',
]);
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash']);

/** Programs that run another, and their options that take a value. */
const WRAPPERS: ReadonlyMap<string, RegExp> = new Map([
  ['command', /^$/],
  ['builtin', /^$/],
  ['exec', /^-a$/],
  ['env', /^(-u|-C|--unset|--chdir)$/],
  ['nice', /^(-n|--adjustment)$/],
  ['ionice', /^-[cnp]$/],
  ['nohup', /^$/],
  ['setsid', /^$/],
  ['stdbuf', /^-[ioe]$/],
  ['timeout', /^(-s|-k|--signal|--kill-after)$/],
  ['time', /^(-f|-o)$/],
  ['sudo', /^-[ugUhpCDRrT]$/],
  ['doas', /^-[uC]$/],
  ['xargs', /^-[IiEnPLsda]$/],
  ['busybox', /^$/],
  ['watch', /^-n$/],
]);

/** The command itself, and those that it runs in turn. */
function unwrap(words: readonly string[], depth: number): readonly (readonly string[])[] {
  const first = words.findIndex((word) => !RESERVED.has(word) && !isAssignment(word));
  if (first < 0 || depth > MAX_DEPTH) return [];
  const command = words.slice(first);
  const name = baseName(command[0] ?? '');
  return [[name, ...command.slice(1)], ...wrapped(name, command.slice(1), depth)];
}

function wrapped(name: string, args: readonly string[], depth: number): readonly (readonly string[])[] {
  if (name === 'eval') return commandsIn(args.join(' '), depth + 1);
  if (SHELLS.has(name)) {
    const at = args.findIndex((arg) => /^-[a-z]*c[a-z]*$/.test(arg));
    const script = at < 0 ? undefined : args.slice(at + 1).find((arg) => !arg.startsWith('-'));
    return script === undefined ? [] : commandsIn(script, depth + 1);
  }
  if (name === 'find' || name === 'fd') {
    const at = args.findIndex((arg) => /^(-exec|-execdir|-ok|-okdir|-x|--exec)$/.test(arg));
    return at < 0 ? [] : unwrap(args.slice(at + 1), depth + 1);
  }
  const valued = WRAPPERS.get(name);
  return valued ? unwrap(innerCommand(name, args, valued), depth + 1) : [];
}

function innerCommand(name: string, args: readonly string[], valued: RegExp): readonly string[] {
  let at = 0;
  while (at < args.length) {
    const arg = args[at] ?? '';
    if (valued.test(arg)) at += 2;
    else if (arg.startsWith('-') || isAssignment(arg) || (name === 'timeout' && /^[\d.]+[smhd]?$/.test(arg)))
      at += 1;
    else break;
  }
  return args.slice(at);
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(word);
}

function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}
