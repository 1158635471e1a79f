/** Serves the queries. Replicas of the queue share the requests; each answers from the log, so any will do. */
import {
  type ConversationState,
  evolve,
  initialState,
  type QueryName,
  rpcSubject,
  sessionFilter,
} from '@interlock/contracts';
import {
  FoldCache,
  type RpcReplyInput,
  type RpcRequest,
  type ServiceContext,
  serveRpc,
} from '@interlock/kit';
import type { Registries } from '../registries.ts';
import type { SessionsIndex } from '../sessions-index.ts';
import { addressOf } from './address.ts';
import { queryApprovals } from './approvals.ts';
import { queryEvents } from './events.ts';
import { queryLane } from './lane.ts';
import { queryRegistry } from './registry.ts';
import { querySessions } from './sessions.ts';
import { queryState } from './state.ts';

type Rpc<Name extends QueryName> = `query.${Name}`;
type Handlers = {
  readonly [Name in QueryName]: (
    tenant: string,
    request: RpcRequest<Rpc<Name>>,
  ) => Promise<RpcReplyInput<Rpc<Name>>>;
};

/** Serves `rpc.v1.*.query.*`, all in the queue `event-store`. */
export function serveQueries(
  { bus, keys, metrics }: ServiceContext,
  registries: Registries,
  index: SessionsIndex,
): { stop(): Promise<void> } {
  const sessions = new FoldCache<ConversationState>({
    bus,
    metrics,
    verifier: { keys, types: 'all' },
    initial: initialState,
    evolve,
    filter: sessionFilter,
  });
  const handlers: Handlers = {
    events: (tenant, request) => queryEvents(bus, tenant, request),
    sessions: (tenant, { limit }) => querySessions(index, sessions, tenant, limit),
    state: (tenant, request) => queryState(sessions, tenant, request),
    lane: (tenant, request) => queryLane(sessions, tenant, request),
    approvals: (tenant, { session }) => queryApprovals({ bus, index, sessions }, tenant, session),
    registry: (tenant) => queryRegistry(bus, registries, tenant),
  };
  const serve = <Name extends QueryName>(name: Name): { stop(): Promise<void> } =>
    serveRpc<Rpc<Name>>(bus, {
      subject: rpcSubject.query('*', name),
      queue: 'event-store',
      rpc: `query.${name}`,
      handle: (request, { subject }) => handlers[name](addressOf(subject).tenant, request),
    });
  const served = (Object.keys(handlers) as QueryName[]).map((name) => serve(name));
  return {
    async stop() {
      await Promise.all(served.map((each) => each.stop()));
    },
  };
}
