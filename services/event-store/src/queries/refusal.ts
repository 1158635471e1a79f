import type { ErrorCode, RpcError } from '@interlock/contracts';

/** An expected no, as a reply. */
export function refusal(code: ErrorCode, message: string): RpcError {
  return { ok: false, code, message };
}

export function noSuchSession(session: string): RpcError {
  return refusal('session_not_found', `there is no session "${session}"`);
}
