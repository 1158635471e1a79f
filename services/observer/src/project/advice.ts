import { ERRORS, type ErrorCode, type ObservationPart } from '@interlock/contracts';
import { suggestion } from './projection.ts';

/** Codes whose advice tells the model nothing that the facts do not. */
const SILENT: ReadonlySet<ErrorCode> = new Set(['exit_code', 'aborted', 'cancelled', 'superseded']);

/** The house's advice for a code, as a suggestion: never among the facts. */
export function adviceFor(code: ErrorCode): ObservationPart[] {
  return SILENT.has(code) ? [] : [suggestion(ERRORS[code].advice)];
}
