import type { ErrorCode, ObservationPart, ToolApprovalDeniedV1 } from '@interlock/contracts';
import { adviceFor } from './advice.ts';
import { clip } from './bytes.ts';
import { plain } from './facts.ts';
import { fact, nothingRan, type Projection } from './projection.ts';

const REASON_BYTES = 1024;

const CODES = {
  rule: 'rule_denied',
  rejected: 'rejected_by_person',
  expired: 'approval_expired',
  superseded: 'superseded',
} as const satisfies Record<ToolApprovalDeniedV1['kind'], ErrorCode>;

/** The call was decided against: nothing ran. */
export function projectDenied(data: ToolApprovalDeniedV1): Projection {
  const code = CODES[data.kind];
  const facts: ObservationPart[] = [fact(`Nothing ran: ${opening(data)} (${code})`)];
  if (data.rule !== null) facts.push(fact(`Rule: ${plain(data.rule, 200)}`));
  if (data.reason !== '') facts.push(fact(`Reason given: ${clip(data.reason, REASON_BYTES)}`));
  return nothingRan('denied', code, [...facts, ...adviceFor(code)]);
}

function opening({ kind, person }: ToolApprovalDeniedV1): string {
  switch (kind) {
    case 'rule':
      return 'policy denies this call.';
    case 'rejected':
      return `${person === undefined ? 'a person' : plain(person, 100)} rejected this call.`;
    case 'expired':
      return 'nobody who may allow this call answered in time.';
    case 'superseded':
      return 'another call stands in the place of this one.';
  }
}
