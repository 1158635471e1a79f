import type { ToolCancelledV1 } from '@interlock/contracts';
import { clip } from './bytes.ts';
import { fact, nothingRan, type Projection } from './projection.ts';

const DETAIL_BYTES = 1024;

const OPENINGS: Record<ToolCancelledV1['reason'], string> = {
  run_cancelled: 'the run was cancelled before this call began.',
  expired: 'nobody took the call up in time.',
  superseded: 'another call stands in the place of this one.',
};

/** The call was withdrawn before anyone claimed it: nothing ran. */
export function projectCancelled({ reason, detail }: ToolCancelledV1): Projection {
  const facts = [fact(`Nothing ran: ${OPENINGS[reason]} (cancelled)`)];
  if (detail) facts.push(fact(clip(detail, DETAIL_BYTES)));
  return nothingRan('cancelled', 'cancelled', facts);
}
