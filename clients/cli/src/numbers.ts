/** Numbers that people type; `undefined` stays undefined. */
import { CliError } from './cli-error.ts';

/** A number above 0. */
export function positive(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new CliError('usage', `${flag} needs a number above 0, not "${text}".`);
  return value;
}

/** A whole number from `least`, by default 1, to `most`. */
export function wholeNumber(
  flag: string,
  text: string | undefined,
  { least = 1, most = Number.MAX_SAFE_INTEGER }: { readonly least?: number; readonly most?: number } = {},
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw new CliError('usage', `${flag} needs a whole number ${range}, not "${text}".`);
}

/** Seconds as milliseconds. */
export function milliseconds(flag: string, text: string | undefined): number | undefined {
  const seconds = positive(flag, text);
  return seconds === undefined ? undefined : Math.max(1, Math.round(seconds * 1000));
}
