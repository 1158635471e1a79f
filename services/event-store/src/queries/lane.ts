/** `query.lane`: the tail of an intent's lane, for those who may not read the log. */
import { type ConversationState, callOf, type LaneReplyV1, tailOf } from '@interlock/contracts';
import type { FoldCache } from '@interlock/kit';

/** Read at the leader. The step leaves strays out, so the whole session is folded for it. */
export async function queryLane(
  sessions: FoldCache<ConversationState>,
  tenant: string,
  { session, intent }: { readonly session: string; readonly intent: string },
): Promise<LaneReplyV1> {
  const state = await sessions.latest(tenant, session);
  const call = callOf(state, intent);
  return { ok: true, tail: tailOf(state, intent), step: call?.step ?? null, claim: call?.claim ?? null };
}
