import { type PreflightReplyV1, type PreflightRequestV1, rpcSubject } from '@interlock/contracts';
import { type Bus, callRpc, RetryableError } from '@interlock/kit';

export type PreflightAnswer =
  | { readonly kind: 'answered'; readonly reply: PreflightReplyV1 }
  | { readonly kind: 'silence'; readonly why: string };

/** Asks the pool once. Silence is an answer too: nobody serves the pool, or not in time. */
export async function askPool(
  bus: Bus,
  tenant: string,
  pool: string,
  question: { readonly request: PreflightRequestV1; readonly timeoutMs: number },
): Promise<PreflightAnswer> {
  try {
    const reply = await callRpc(bus, {
      subject: rpcSubject.preflight(tenant, pool),
      rpc: 'preflight',
      request: question.request,
      timeoutMs: question.timeoutMs,
      unavailable: 'pool_unavailable',
    });
    return { kind: 'answered', reply };
  } catch (error) {
    if (error instanceof RetryableError) return { kind: 'silence', why: error.message };
    throw error;
  }
}
