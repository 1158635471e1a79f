import { ERRORS, type ErrorCode } from '@interlock/contracts';

/** A request of a client that cannot be carried out. `code` is of the contracts' list; the message says what to do. */
export class RuntimeRefusal extends Error {
  override readonly name = 'RuntimeRefusal';
  readonly code: ErrorCode;
  constructor(code: ErrorCode, what: string, cause?: unknown) {
    super(`${what} ${ERRORS[code].advice}`, { cause });
    this.code = code;
  }
}
