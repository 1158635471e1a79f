/**
 * Patterns of rule files. They meet text that a model wrote, so a pattern that could take for ever is refused, and a
 * long text is looked at through overlapping windows. Pure.
 */

/** Characters of a window; what a pattern is meant to find is no longer than half of it. */
const WINDOW = 1024;
/** Repetitions without an end in one pattern: each multiplies the work. */
const MAX_REPETITIONS = 4;

/** `covers`: the pattern vouches for the whole text, so a longer text is not covered. `touches`: it finds its case. */
export type Reach = 'covers' | 'touches';

/** Throws SyntaxError for a pattern that does not compile or could take for ever. */
export function compileRegex(pattern: string, reach: Reach): (text: string) => boolean {
  const why = endless(pattern);
  if (why !== null) throw new SyntaxError(why);
  const regex = new RegExp(pattern, 'u');
  if (reach === 'covers') return (text) => text.length <= WINDOW && regex.test(text);
  return (text) => windows(text).some((window) => regex.test(window));
}

function windows(text: string): readonly string[] {
  if (text.length <= WINDOW) return [text];
  const found: string[] = [];
  for (let at = 0; at < text.length - WINDOW / 2; at += WINDOW / 2) found.push(text.slice(at, at + WINDOW));
  return found;
}

/** Why matching could explode; null when it cannot. */
function endless(pattern: string): string | null {
  if (/\\[1-9]/.test(pattern)) return 'refers back to a group, which can take for ever';
  const bare = pattern.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  let repetitions = 0;
  /** Of each open group: whether it holds a repetition or a choice. */
  const open: boolean[] = [];
  const mark = (): void => {
    if (open.length > 0) open[open.length - 1] = true;
  };
  for (let index = 0; index < bare.length; index++) {
    const char = bare[index];
    if (char === '(') open.push(false);
    else if (char === '|') mark();
    else if (char === ')') {
      const varies = open.pop() ?? false;
      if (varies && isRepetition(bare, index + 1))
        return 'repeats a repetition or a choice, which can take for ever';
      if (varies) mark();
    } else if (isRepetition(bare, index)) {
      repetitions++;
      mark();
    }
  }
  return repetitions > MAX_REPETITIONS ? `has more than ${MAX_REPETITIONS} repetitions` : null;
}

function isRepetition(text: string, index: number): boolean {
  return text[index] === '*' || text[index] === '+' || text[index] === '{';
}
