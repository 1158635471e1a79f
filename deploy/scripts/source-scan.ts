// As much of a TypeScript lexer as it takes to find imports and names without being fooled by comments, strings,
// templates and regular expressions. TypeScript 7 has no compiler API to ask.

export interface Token {
  readonly kind: 'word' | 'string' | 'mark';
  readonly text: string;
  readonly line: number;
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Erased before it runs. */
  readonly typeOnly: boolean;
  /** The names in braces; empty for a default, a namespace or a dynamic import. */
  readonly names: readonly string[];
}

const BEFORE_REGEX = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'do',
  'else',
  'void',
  'delete',
  'await',
  'yield',
]);
const WORD = /[\w$]+/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y;

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  // One entry for each `${` that is open: the number of `{` open inside it.
  const templates: number[] = [];
  let at = 0;
  let line = 1;

  const push = (kind: Token['kind'], value: string): void => void tokens.push({ kind, text: value, line });
  const skipTo = (end: number): void => {
    for (; at < end; at += 1) if (text[at] === '\n') line += 1;
  };
  const past = (needle: string): number => {
    const found = text.indexOf(needle, at + 2);
    return found < 0 ? text.length : found + needle.length;
  };
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? '';
  };
  const regexHere = (): boolean => {
    const last = tokens.at(-1);
    if (!last || last.kind === 'string') return !last;
    return last.kind === 'word' ? BEFORE_REGEX.has(last.text) : !')]}'.includes(last.text);
  };
  const readString = (quote: string): void => {
    let end = at + 1;
    while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1;
    push('string', text.slice(at + 1, end));
    skipTo(end + 1);
  };
  /** From behind a backtick or a closing brace to the template's end or its next `${`. */
  const readTemplate = (): void => {
    while (at < text.length && text[at] !== '`' && !text.startsWith('${', at))
      skipTo(at + (text[at] === '\\' ? 2 : 1));
    if (text.startsWith('${', at)) templates.push(0);
    skipTo(at + (text[at] === '`' ? 1 : 2));
  };
  const readMark = (mark: string): void => {
    const open = templates.at(-1);
    skipTo(at + 1);
    if (open !== undefined && mark === '}' && open === 0) {
      templates.pop();
      readTemplate();
      return;
    }
    if (open !== undefined && (mark === '{' || mark === '}'))
      templates[templates.length - 1] = open + (mark === '{' ? 1 : -1);
    push('mark', mark);
  };

  while (at < text.length) {
    const char = text[at] ?? '';
    const word = match(WORD);
    if (/\s/.test(char)) skipTo(at + 1);
    else if (text.startsWith('//', at)) skipTo(past('\n') - 1);
    else if (text.startsWith('/*', at)) skipTo(past('*/'));
    else if (char === "'" || char === '"') readString(char);
    else if (char === '`') {
      push('string', '');
      skipTo(at + 1);
      readTemplate();
    } else if (word) {
      push('word', word);
      skipTo(at + word.length);
    } else if (char === '/' && regexHere() && match(REGEX)) {
      push('string', '');
      skipTo(at + match(REGEX).length);
    } else readMark(char);
  }
  return tokens;
}

/** Everything the file imports or exports from, dynamic imports of a plain string included. */
export function importsOf(tokens: readonly Token[]): Import[] {
  const found: Import[] = [];
  let statement = 0;
  tokens.forEach((token, index) => {
    if (token.kind !== 'word') return;
    const next = tokens[index + 1];
    if (token.text === 'import' || token.text === 'export') statement = index;
    if (token.text === 'import') {
      const target = next?.text === '(' ? tokens[index + 2] : next;
      if (target?.kind === 'string')
        found.push({ specifier: target.text, line: token.line, typeOnly: false, names: [] });
    }
    if (token.text === 'from' && next?.kind === 'string') {
      found.push({ specifier: next.text, line: next.line, ...clauseOf(tokens.slice(statement + 1, index)) });
    }
  });
  return found;
}

/** What stands between `import` or `export` and `from`. */
function clauseOf(clause: readonly Token[]): Pick<Import, 'typeOnly' | 'names'> {
  const typeOnly = clause[0]?.text === 'type' && clause.length > 1;
  if (clause[0]?.text !== '{') return { typeOnly, names: [] };
  const names = clause.filter(
    ({ kind }, at) => kind === 'word' && '{,'.includes(clause[at - 1]?.text ?? '-'),
  );
  return { typeOnly, names: names.map(({ text }) => text) };
}

/** The line of the first use of `object.member` (any member where it is `*`), or undefined. */
export function lineOfUse(tokens: readonly Token[], object: string, member: string): number | undefined {
  const index = tokens.findIndex(
    (token, at) =>
      token.kind === 'word' &&
      token.text === object &&
      tokens[at - 1]?.text !== '.' &&
      tokens[at + 1]?.text === '.' &&
      (member === '*' || tokens[at + 2]?.text === member),
  );
  return tokens[index]?.line;
}
