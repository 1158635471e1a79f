/** `docs/errors.md`: the list of codes as people read it. */
import { ERROR_CODES, ERRORS, type ErrorFamily } from '../../src/errors.ts';

const FAMILIES: Readonly<Record<ErrorFamily, string>> = {
  validation: 'Told to the model: the call is refused before any decision, and nothing ran.',
  decision: 'Why a call was not allowed, or a policy or an answer does not count.',
  execution: 'Why a call that was allowed has no success.',
  model: 'Why a request to a model has no answer.',
  wire: 'What can be wrong with a message or with its way into the log.',
  house: 'Services, set-up and the command line.',
};

export function errorsPage(): string {
  const families = Object.entries(FAMILIES) as [ErrorFamily, string][];
  return [
    '# Error codes',
    '',
    'Generated from `contracts/src/errors.ts` by `npm run generate`; change it there.',
    '',
    ...families.flatMap(([family, text]) => [`## ${family}`, '', text, '', ...table(family), '']),
  ].join('\n');
}

/** Columns are aligned, as the formatter of the house would have them. */
function table(family: ErrorFamily): string[] {
  const rows = ERROR_CODES.filter((code) => ERRORS[code].family === family).map((code) => [
    `\`${code}\``,
    cell(ERRORS[code].meaning),
    cell(ERRORS[code].advice),
  ]);
  const all = [['code', 'meaning', 'what to do'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = all;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
