/** `query.approvals`: calls that wait for a person. */
import {
  type AskedState,
  type approvalsReplyV1,
  type CallState,
  type ConversationState,
  eventSubject,
  isEvent,
  type PendingApproval,
} from '@interlock/contracts';
import { type Bus, type FoldCache, readRange } from '@interlock/kit';
import type { z } from 'zod';
import type { SessionsIndex } from '../sessions-index.ts';

type Reply = z.output<typeof approvalsReplyV1>;

export interface ApprovalsOptions {
  readonly bus: Bus;
  readonly index: SessionsIndex;
  readonly sessions: FoldCache<ConversationState>;
}

/** The open asks of one session, or of all of a tenant, oldest first. One that is answered already is not open. */
export async function queryApprovals(
  options: ApprovalsOptions,
  tenant: string,
  session: string | undefined,
): Promise<Reply> {
  const names = session === undefined ? await askedSessions(options.index, tenant) : [session];
  const found = await Promise.all(names.map((name) => approvalsOf(options, tenant, name)));
  return { ok: true, approvals: found.flat().sort((a, b) => a.askedSeq - b.askedSeq) };
}

async function askedSessions(index: SessionsIndex, tenant: string): Promise<string[]> {
  await index.catchUp();
  return index
    .list(tenant)
    .filter(({ asked }) => asked.size > 0)
    .map(({ session }) => session);
}

async function approvalsOf(
  options: ApprovalsOptions,
  tenant: string,
  session: string,
): Promise<PendingApproval[]> {
  const state = await options.sessions.latest(tenant, session);
  forget(options.index, state);
  const open = Object.values(state.calls).filter(isOpen);
  return (await Promise.all(open.map((call) => toApproval(options.bus, state, call)))).flat();
}

type OpenCall = CallState & { readonly asked: AskedState };

function isOpen(call: CallState): call is OpenCall {
  return call.stage === 'asked' && call.asked !== null && call.asked.answer === null;
}

/** A call that is no longer asked about need not be looked at again; a new ask of it is indexed anew. */
function forget(index: SessionsIndex, { tenant, session, calls }: ConversationState): void {
  const line = index.get(tenant, session);
  for (const intent of line?.asked ?? []) if (calls[intent]?.stage !== 'asked') line?.asked.delete(intent);
}

async function toApproval(
  bus: Bus,
  { tenant, session }: ConversationState,
  call: OpenCall,
): Promise<PendingApproval[]> {
  const { intent, tool, asked } = call;
  const filter = eventSubject({ tenant, session, lane: 'i', intent, type: 'tool.approval.asked' });
  const [entry] = await readRange(bus, { filter, fromSeq: asked.seq, throughSeq: asked.seq });
  if (!entry || !isEvent(entry, 'tool.approval.asked')) return [];
  const { title, detail, preview, effects } = entry.data.prompt;
  return [
    {
      session,
      intent,
      askedId: asked.id,
      askedSeq: asked.seq,
      bindingSha256: asked.bindingSha256,
      tool,
      title,
      detail,
      ...(preview === undefined ? {} : { preview }),
      effects,
      expiresAt: asked.expiresAt,
    },
  ];
}
