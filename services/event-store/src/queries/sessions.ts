/** `query.sessions`: the list of a tenant's sessions. */
import type { ConversationState, SessionSummary, sessionsReplyV1 } from '@interlock/contracts';
import type { FoldCache } from '@interlock/kit';
import type { z } from 'zod';
import { type IndexedSession, restingStatus, type SessionsIndex } from '../sessions-index.ts';

type Reply = z.output<typeof sessionsReplyV1>;

/** Newest first. What a running session waits for is asked of its fold. */
export async function querySessions(
  index: SessionsIndex,
  sessions: FoldCache<ConversationState>,
  tenant: string,
  limit: number,
): Promise<Reply> {
  await index.catchUp();
  const listed = index.list(tenant).slice(0, limit);
  return { ok: true, sessions: await Promise.all(listed.map((session) => toSummary(session, sessions))) };
}

async function toSummary(
  { tenant, openedSeq: _, asked: __, running, lastReason, ...line }: IndexedSession,
  sessions: FoldCache<ConversationState>,
): Promise<SessionSummary> {
  if (!running) return { ...line, status: restingStatus({ lastReason }) };
  const { status, run, throughSeq } = await sessions.latest(tenant, line.session);
  return { ...line, status, turns: line.turns + (run?.turn ?? 0), throughSeq };
}
