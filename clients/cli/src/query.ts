/** A query of the event-store: its answer, or the refusal as an error with its code. */
import type { RpcName } from '@interlock/contracts';
import { type QueryName, rpcSubject } from '@interlock/contracts';
import { callRpc, type RpcReply, type RpcRequestInput } from '@interlock/kit';
import { CliError } from './cli-error.ts';
import type { Connection } from './house-connection.ts';

type QueryRpc = Extract<RpcName, `query.${string}`>;
type Answered<Rpc extends QueryRpc> = Extract<RpcReply<Rpc>, { ok: true }>;

export async function query<Rpc extends QueryRpc>(
  connection: Connection,
  rpc: Rpc,
  request: RpcRequestInput<Rpc>,
): Promise<Answered<Rpc>> {
  const name = rpc.slice('query.'.length) as QueryName;
  const reply = await callRpc(connection.bus, {
    subject: rpcSubject.query(connection.tenant, name),
    rpc,
    request,
    timeoutMs: 10_000,
    unavailable: 'query_timeout',
  });
  if (!reply.ok) throw new CliError(reply.code, `${reply.message}.`);
  return reply as Answered<Rpc>;
}
