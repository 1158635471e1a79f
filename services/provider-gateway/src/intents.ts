/** From a `model.message` to its intents. Pure: one draft for each call that has none yet. */
import {
  type ConversationState,
  callOf,
  type EventInput,
  type LaneTail,
  type ModelMessageV1,
  type ModelPart,
  tailOf,
} from '@interlock/contracts';
import type { AnswerPart } from './provider.ts';

export interface IntentDraft {
  readonly intent: string;
  /** End of the intent's lane as the state knows it. */
  readonly tail: LaneTail;
  readonly data: EventInput<'tool.intent'>;
}

/** Gives each call of an answer its intent id. */
export function nameCalls(parts: readonly AnswerPart[], nextId: () => string): ModelPart[] {
  return parts.map((part) =>
    part.type === 'tool_call' || part.type === 'rejected_call' ? { ...part, intent: nextId() } : part,
  );
}

/** True while the intent of a call is still to be derived. */
export function isUnderived(state: ConversationState, intent: string): boolean {
  return callOf(state, intent)?.stage === 'declared';
}

/** The intents of `message` that the state does not hold. Calls of a cut answer are not calls here. */
export function missingIntents(state: ConversationState, message: ModelMessageV1): IntentDraft[] {
  return message.parts.flatMap((part) => {
    if (part.type !== 'tool_call' || !isUnderived(state, part.intent)) return [];
    const { intent, tool, rawInput, inputFormat, reason, expect, providerRef } = part;
    const data: EventInput<'tool.intent'> = {
      tool,
      rawInput,
      inputFormat,
      ...(reason === undefined ? {} : { reason }),
      ...(expect === undefined ? {} : { expect }),
      proposer: 'model',
      provider: message.provider,
      model: message.model,
      contextSnapshotId: message.contextSnapshotId,
      providerRef,
    };
    return [{ intent, tail: tailOf(state, intent), data }];
  });
}
