/**
 * Engines of others, in any language, on `rpc.v1.policy.evaluate.<engine>`. One that fails, is late, or answers for
 * another engine means ask, or deny where the setting says so; never allow.
 */
import { type EvaluateRequestV1, rpcSubject, type Verdict } from '@interlock/contracts';
import { type Bus, callRpc, messageOf } from '@interlock/kit';

export interface RemoteEngine {
  readonly name: string;
  /** Recorded, without force. */
  readonly shadow: boolean;
  /** What silence means. */
  readonly onFailure: 'ask' | 'deny';
}

/** Asks one engine. Never throws. */
export async function askEngine(
  bus: Bus,
  engine: RemoteEngine,
  request: EvaluateRequestV1,
  deadlineMs: number,
): Promise<Verdict> {
  const { name, shadow } = engine;
  try {
    const reply = await callRpc(bus, {
      subject: rpcSubject.evaluate(name),
      rpc: 'policy.evaluate',
      request,
      timeoutMs: deadlineMs,
    });
    if (!reply.ok) return silence(engine, `${reply.code}: ${reply.message}`);
    if (reply.engine !== name) return silence(engine, `the answer is of engine "${reply.engine}"`);
    const { version, decision, winner, matches } = reply;
    return { engine: name, version, decision, winner, matches, shadow };
  } catch (error) {
    return silence(engine, messageOf(error));
  }
}

function silence({ name, shadow, onFailure }: RemoteEngine, error: string): Verdict {
  return { engine: name, version: '', decision: onFailure, winner: null, matches: [], shadow, error };
}
