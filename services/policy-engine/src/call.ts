/** A validated call as decisions see it: what would run, and what the pool's host says it would do. Pure. */
import type { PreflightReplyV1, ToolValidatedV1 } from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';

export type Call = ToolValidatedV1;

export type AcceptedPreflight = NonNullable<Extract<PreflightReplyV1, { ok: true }>['accepted']>;

/** The call as the files are now. */
export function withPreflight(call: Call, accepted: AcceptedPreflight): Call {
  const { input, changes, assessment, baselines, sandboxLevel } = accepted;
  return { ...call, input, inputSha256: hashOf(input), changes, assessment, baselines, sandboxLevel };
}
