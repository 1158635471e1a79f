import { isSessionId, SYSTEM_SESSION } from '@interlock/contracts';
import { CliError } from './cli-error.ts';

/** Refuses what cannot be a session id before a house is looked for. */
export function checkSessionId(id: string): void {
  if (id === SYSTEM_SESSION) throw new CliError('reserved_id', `"${id}" is reserved.`);
  if (!isSessionId(id)) throw new CliError('invalid_id', `"${id.slice(0, 80)}" cannot be a session id.`);
}
