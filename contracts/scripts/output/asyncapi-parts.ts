/** What the parts of the AsyncAPI document share. */
import type { Role } from '../../src/registry.ts';
import type { RpcName } from '../../src/rpc/v1.ts';
import { rpcSubject } from '../../src/subjects.ts';

export type Json = Record<string, unknown>;
export type Party = Role | 'engine';

export const ref = (path: string): Json => ({ $ref: `#/${path}` });

/** Keys of a record with their types. */
export function names<Record extends object>(record: Record): (keyof Record & string)[] {
  return Object.keys(record) as (keyof Record & string)[];
}

/** Who calls which RPC and who answers. */
export const RPC_PARTIES: Readonly<
  Record<RpcName, { callers: readonly Role[]; server: Party; address: string }>
> = {
  preflight: {
    callers: ['validator', 'policy-engine'],
    server: 'executor',
    address: rpcSubject.preflight('*', '*'),
  },
  register: { callers: ['executor'], server: 'event-store', address: rpcSubject.register('*', '*') },
  'policy.evaluate': { callers: ['policy-engine'], server: 'engine', address: rpcSubject.evaluate('*') },
  'query.events': { callers: ['client'], server: 'event-store', address: rpcSubject.query('*', 'events') },
  'query.sessions': {
    callers: ['client'],
    server: 'event-store',
    address: rpcSubject.query('*', 'sessions'),
  },
  'query.state': { callers: ['client'], server: 'event-store', address: rpcSubject.query('*', 'state') },
  'query.lane': { callers: ['executor'], server: 'event-store', address: rpcSubject.query('*', 'lane') },
  'query.approvals': {
    callers: ['client'],
    server: 'event-store',
    address: rpcSubject.query('*', 'approvals'),
  },
  'query.registry': {
    callers: ['client'],
    server: 'event-store',
    address: rpcSubject.query('*', 'registry'),
  },
};
