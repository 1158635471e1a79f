/** Whether a permit may be acted on, as far as it can be said without looking at a file. Pure. */
import type { ErrorCode, Invocation, SandboxLevel } from '@interlock/contracts';
import { hashOf, isCanonical } from '@interlock/kit/pure';

export type PermitCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string };

export interface PermitFacts {
  readonly invocation: Invocation;
  /** The signature was verified as one of the policy engine. */
  readonly authentic: boolean;
  /** Intent and pool of the lane that the permit stands in. */
  readonly intent: string;
  readonly pool: string;
  readonly nowMs: number;
  /** Digest of this pool's tool of that name; null when it has none. */
  readonly toolDigest: string | null;
  readonly sandboxLevel: SandboxLevel;
}

/** The first thing that is wrong with a permit. */
export function checkPermit(facts: PermitFacts): PermitCheck {
  const { invocation, authentic, intent, pool, nowMs, toolDigest, sandboxLevel } = facts;
  if (!authentic) return refuse('bad_signature', 'the permit is not signed by the policy engine');
  if (invocation.intent !== intent || invocation.pool !== pool)
    return refuse('bad_signature', `the permit is for ${invocation.intent} in pool ${invocation.pool}`);
  if (!isCanonical(invocation.input) || hashOf(invocation.input) !== invocation.inputSha256)
    return refuse('bad_signature', 'the input is not the one that was decided');
  if (nowMs >= Date.parse(invocation.expiresAt))
    return refuse('invocation_expired', `the permit expired at ${invocation.expiresAt}`);
  if (toolDigest === null) return refuse('exception', `this pool has no tool ${invocation.tool}`);
  if (toolDigest !== invocation.toolDigest)
    return refuse(
      'exception',
      `this pool has another version of ${invocation.tool} than the one that was decided`,
    );
  if (!invocation.sandbox.levels.includes(sandboxLevel))
    return refuse(
      'sandbox_unavailable',
      `the permit demands sandbox level ${invocation.sandbox.levels.join(' or ')}; this host has ${sandboxLevel}`,
    );
  return { ok: true };
}

function refuse(code: ErrorCode, message: string): PermitCheck {
  return { ok: false, code, message };
}
