/** W3C trace context, the `traceparent` form: `00-<trace>-<span>-<flags>`. */
import { randomText } from './random.ts';

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A new trace, sampled. */
export function newTraceparent(): string {
  return `00-${randomText(16, 'hex')}-${randomText(8, 'hex')}-01`;
}

/** A new span of the same trace; a new trace when `parent` is absent or not in the form. */
export function childTraceparent(parent: string | undefined): string {
  const match = parent === undefined ? null : TRACEPARENT.exec(parent);
  return match ? `00-${match[1]}-${randomText(8, 'hex')}-${match[3]}` : newTraceparent();
}
