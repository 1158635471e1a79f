import { ERRORS, type ErrorCode } from '@interlock/contracts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** A command cannot go on. Printed as one line (or one JSON object) with its code and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: ErrorCode;
  readonly exitCode: ExitCode;
  constructor(code: ErrorCode, what: string, options: { exitCode?: ExitCode; cause?: unknown } = {}) {
    super(`${what} ${ERRORS[code].advice}`, { cause: options.cause });
    this.code = code;
    this.exitCode = options.exitCode ?? exitCodeOf(code);
  }
}

/** The exit code that a failure of this code ends a command with. */
export function exitCodeOf(code: string): ExitCode {
  switch (code) {
    case 'usage':
    case 'invalid_id':
    case 'reserved_id':
    case 'config_invalid':
    case 'workspace_invalid':
    case 'script_invalid':
    case 'query_invalid':
      return EXIT.usage;
    case 'auth':
    case 'permission':
      return EXIT.authentication;
    case 'waiting_for_approval':
      return EXIT.waiting;
    case 'message_too_large':
    case 'log_full':
      return EXIT.limit;
    default:
      return EXIT.error;
  }
}
