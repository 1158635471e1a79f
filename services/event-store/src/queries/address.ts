import { isToken } from '@interlock/contracts';
import { TerminalError } from '@interlock/kit';

/** What the subject of a request says: `rpc.v1.<tenant>.<kind>.<last>`. */
export interface RpcAddress {
  readonly tenant: string;
  /** The pool, or the name of the query. */
  readonly last: string;
}

/** @throws TerminalError `invalid_id`, which the caller is answered */
export function addressOf(subject: string): RpcAddress {
  const [, , tenant = '', , last = ''] = subject.split('.');
  if (!isToken(tenant) || !isToken(last))
    throw new TerminalError('invalid_id', `not a tenant or pool: ${subject.slice(0, 120)}`);
  return { tenant, last };
}
