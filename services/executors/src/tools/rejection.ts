/** Refusals of a preflight, in the words of the contracts. */
import { codesOf, ERRORS, type ErrorCode, type ValidationError } from '@interlock/contracts';
import { FileRefusedError } from '../workspace/open.ts';
import type { Rejected } from './tool.ts';

const VALIDATION_CODES: ReadonlySet<string> = new Set(codesOf('validation'));

/** One thing that is wrong. `advice` defaults to that of the code. */
export function rejection(
  code: ErrorCode,
  path: string,
  message: string,
  advice: string = ERRORS[code].advice,
): ValidationError {
  return { path, code: VALIDATION_CODES.has(code) ? code : 'schema_mismatch', message, advice };
}

/** A preflight that ends with one thing wrong. */
export function reject(code: ErrorCode, path: string, message: string, advice?: string): Rejected {
  return { ok: false, errors: [rejection(code, path, message, advice)] };
}

/** Turns a refused file into a refused call. Throws anything else. */
export function rejectFile(error: unknown, path: string): Rejected {
  if (error instanceof FileRefusedError) return reject(error.code, path, error.message);
  throw error;
}
