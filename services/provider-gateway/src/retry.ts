/** What follows a failed attempt. Pure; chance is an input. */
import type { Failure } from './provider.ts';

interface RetryPolicy {
  readonly maxAttempts: number;
  /** Wait before the second attempt where the provider does not say; doubled each time. */
  readonly backoffMs: number;
  /** The longest wait; where the provider asks for more, the request fails and says how long. */
  readonly maxWaitMs: number;
}

type AfterFailure = { readonly kind: 'retry'; readonly waitMs: number } | { readonly kind: 'fail' };

/** @param random from 0 to 1 */
export function afterFailure(
  failure: Failure,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): AfterFailure {
  if (!failure.retryable || attempt >= policy.maxAttempts) return { kind: 'fail' };
  const asked = failure.retryAfterMs ?? 0;
  if (asked > policy.maxWaitMs) return { kind: 'fail' };
  return { kind: 'retry', waitMs: asked > 0 ? asked : backoff(attempt, policy, random) };
}

/** Between half and the whole of a wait that doubles, so that many who failed together do not come back together. */
function backoff(attempt: number, { backoffMs, maxWaitMs }: RetryPolicy, random: number): number {
  const whole = Math.min(backoffMs * 2 ** (attempt - 1), maxWaitMs);
  return Math.round(whole * (0.5 + random / 2));
}
