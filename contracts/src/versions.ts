/** Reading what was written in an older version: parsed as what it was, then upcast step by step to the newest. */
import type { z } from 'zod';

/** A version that is no longer written. */
export interface PastVersion {
  readonly schema: z.ZodType;
  /** Data of this version, parsed, to data of the next one. Pure, and never throws for what its schema accepts. */
  readonly upcast: (data: never) => unknown;
}

interface Versioned {
  readonly schema: z.ZodType;
  /** Versions before the newest, from 1. */
  readonly past?: readonly PastVersion[] | undefined;
}

/** Parses data of `version` (from 1, at most the newest) and gives data of the newest version. Total. */
export function readData(
  { schema, past = [] }: Versioned,
  version: number,
  data: unknown,
): z.ZodSafeParseResult<unknown> {
  let newer = data;
  for (const step of past.slice(version - 1)) {
    const parsed = step.schema.safeParse(newer);
    if (!parsed.success) return parsed;
    newer = step.upcast(parsed.data as never);
  }
  return schema.safeParse(newer);
}
