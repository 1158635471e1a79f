/**
 * The decision at the answer: with the files and the policy as they are now. Pure.
 *
 * R1. What is denied now is denied, whatever a person approved before.
 * R2. The approval counts when nothing changed that it was bound to.
 * R3. When something changed, the answer is void: what needs nobody's word now is allowed for that reason, everything
 *     else is asked afresh.
 */
import type { ToolApprovalAllowedV1, ToolApprovalAskedV1 } from '@interlock/contracts';
import type { Answer } from './answer.ts';
import { changesSince } from './binding.ts';
import type { Call } from './call.ts';
import { mayAnswer } from './decide.ts';
import type { Evaluation } from './evaluate.ts';
import type { Ask } from './record.ts';

export type Conclusion =
  | { readonly kind: 'allow'; readonly by: ToolApprovalAllowedV1['by'] }
  | ({ readonly kind: 'ask' } & Ask)
  | { readonly kind: 'deny'; readonly rule: string | null; readonly reason: string };

export function reconsider(
  asked: ToolApprovalAskedV1,
  answer: Answer,
  call: Call,
  { outcome, grounds }: Pick<Evaluation, 'outcome' | 'grounds'>,
): Conclusion {
  if (outcome.kind === 'deny') return outcome;
  const { person } = answer.data;
  const answerId = answer.envelope.id;
  const changes = [...changesSince(asked, call, grounds)];
  // Engines outside the rule files may have changed their mind about who must say.
  if (outcome.kind === 'ask' && !mayAnswer(outcome.terms.approvers, person, null))
    changes.push('who may approve it');
  if (changes.length === 0) return { kind: 'allow', by: { kind: 'answer', answerId, person } };
  if (outcome.kind === 'allow') return outcome;
  const why = `Since it was asked, ${changes.join(', ')} changed.`;
  return { ...outcome, voided: { answerId, why } };
}
