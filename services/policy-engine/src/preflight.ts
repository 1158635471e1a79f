import { type ConversationState, type PreflightReplyV1, rpcSubject } from '@interlock/contracts';
import { type Bus, callRpc, RetryableError } from '@interlock/kit';
import type { AcceptedPreflight, Call } from './call.ts';

export type PreflightResult =
  | { readonly kind: 'accepted'; readonly accepted: AcceptedPreflight }
  /** The call would not pass validation any more. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'silence'; readonly why: string };

/** Lets the pool look at the files again, as they are now. */
export async function lookAgain(
  bus: Bus,
  conversation: ConversationState,
  question: { readonly intent: string; readonly call: Call; readonly timeoutMs: number },
): Promise<PreflightResult> {
  const { tenant, session, opened, baselines } = conversation;
  const { intent, call, timeoutMs } = question;
  try {
    const reply = await callRpc(bus, {
      subject: rpcSubject.preflight(tenant, call.pool),
      rpc: 'preflight',
      request: {
        session,
        intent,
        tool: call.tool,
        toolDigest: call.toolDigest,
        input: call.input,
        workspace: opened?.workspace ?? '',
        mode: opened?.mode ?? 'normal',
        reads: Object.entries(baselines).map(([path, { sha256 }]) => ({ path, sha256 })),
      },
      timeoutMs,
      unavailable: 'pool_unavailable',
    });
    return resultOf(reply);
  } catch (error) {
    if (error instanceof RetryableError) return { kind: 'silence', why: error.message };
    throw error;
  }
}

function resultOf(reply: PreflightReplyV1): PreflightResult {
  if (!reply.ok) return { kind: 'silence', why: `${reply.code}: ${reply.message}` };
  const [error] = reply.errors;
  if (error) return { kind: 'refused', why: `${error.message} ${error.advice}` };
  if (!reply.accepted) return { kind: 'silence', why: 'it neither accepted nor refused the call' };
  return { kind: 'accepted', accepted: reply.accepted };
}
