/**
 * Text of a model or a file as a person may safely be shown it: nothing in it can hide, move or colour what stands
 * beside it. Pure.
 */

/** Runs of blanks longer than this are written as a number. */
const LONGEST_BLANK = 24;

/** Control, format and unusual blank characters; line feeds stay, tabs where `tabs` says so. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}/gu;

export interface VisibleOptions {
  /** `escape`: as `\t`, for commands. `keep`: for diffs, where they are indentation. */
  readonly tabs: 'escape' | 'keep';
}

/** Every hidden character as an escape, long blanks counted. */
export function toVisible(text: string, { tabs }: VisibleOptions): string {
  const shown = text.replace(HIDDEN, (char) => {
    if (char === '\n' || (char === '\t' && tabs === 'keep')) return char;
    return escapeOf(char);
  });
  return shown.replace(/ {2,}|\n{4,}/g, (run) => {
    if (run.startsWith('\n')) return `\n[${run.length} line breaks]\n`;
    return run.length > LONGEST_BLANK ? `[${run.length} spaces]` : run;
  });
}

const NAMED: Readonly<Record<string, string>> = { '\t': '\\t', '\r': '\\r', '\0': '\\0' };

function escapeOf(char: string): string {
  const named = NAMED[char];
  if (named !== undefined) return named;
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
