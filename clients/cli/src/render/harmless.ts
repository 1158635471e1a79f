import { stripVTControlCharacters } from 'node:util';

/** Text from models and tools may hold control sequences; a terminal must not obey them. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}

/** The same on one line that takes at most `columns` of a terminal; blanks at its beginning stay. */
export function harmlessLine(text: string, columns: number): string {
  const line = harmless(text)
    .replaceAll(/[\n\t]+/g, ' ')
    .trimEnd();
  let used = 0;
  let end = 0;
  for (const character of line) {
    used += widthOf(character);
    if (used > columns) return `${line.slice(0, end).slice(0, -1)}…`;
    end += character.length;
  }
  return line;
}

/** Whether a text takes no more than so many columns. */
export function fits(text: string, columns: number): boolean {
  return [...text].reduce((used, character) => used + widthOf(character), 0) <= columns;
}

/** Most scripts take one column; East Asian ones and pictures take two. Too much is harmless, too little breaks a redraw. */
function widthOf(character: string): number {
  return (character.codePointAt(0) ?? 0) >= 0x1100 &&
    !/[\u2000-\u206f\u2190-\u23ff\u2500-\u27bf]/u.test(character)
    ? 2
    : 1;
}
