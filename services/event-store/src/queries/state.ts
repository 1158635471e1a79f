/** `query.state`: the fold of a session, now or at a sequence. */
import type { ConversationState, stateReplyV1 } from '@interlock/contracts';
import type { FoldCache } from '@interlock/kit';
import type { z } from 'zod';
import { noSuchSession } from './refusal.ts';

type Reply = z.output<typeof stateReplyV1>;

/** The state through exactly `at`; a sequence that is not there yet gives the present state. */
export async function queryState(
  sessions: FoldCache<ConversationState>,
  tenant: string,
  { session, at }: { readonly session: string; readonly at?: number | undefined },
): Promise<Reply> {
  const latest = await sessions.latest(tenant, session);
  const state =
    at === undefined || at >= latest.throughSeq ? latest : await sessions.exactly(tenant, session, at);
  if (!state.opened) return noSuchSession(session);
  return { ok: true, throughSeq: state.throughSeq, state: { ...state } };
}
