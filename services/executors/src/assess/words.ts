/** Splitting a command line into words, where that can be done without doubt. Pure. */

/** Blanks; a text in single quotes; one in double quotes without anything that is special there; bare characters. */
const TOKEN = /([ \t]+)|'([^']*)'|"([^"$`\\!]*)"|([^\s'"$`\\;&|<>(){}*?[\]~!#\p{Cc}]+)/uy;
/** Blanks that are none to the shell, and characters that cannot be seen. */
const NOT_PLAIN = /[\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]|(?! )\p{Zs}/u;

/** The words of a simple command with literal arguments; null for any other line. */
export function literalWords(line: string): string[] | null {
  if (NOT_PLAIN.test(line)) return null;
  const words: string[] = [];
  let word: string | null = null;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < line.length) {
    const token = TOKEN.exec(line);
    if (!token) return null;
    const [, blank, single, double, bare] = token;
    if (blank === undefined) {
      word = (word ?? '') + (single ?? double ?? bare ?? '');
    } else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  // A leading assignment changes what the program does.
  return words.length === 0 || /^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(words[0] ?? '') ? null : words;
}
