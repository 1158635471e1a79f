/** Appends the intents of an answer. What a lane that moved on holds is somebody else's affair, and done. */
import {
  type AssistantEntry,
  type ConversationState,
  isEvent,
  laneFilter,
  type ModelMessageV1,
  type StoredEventOf,
  tailOf,
} from '@interlock/contracts';
import { append, RetryableError, readRange } from '@interlock/kit';
import type { House } from './house.ts';
import { type IntentDraft, isUnderived, missingIntents } from './intents.ts';
import { reading } from './reading.ts';

/** Where intents come from. */
interface Origin {
  readonly requested: StoredEventOf<'model.requested'>;
  /** Id of the `model.message`. */
  readonly messageId: string;
  readonly traceparent: string;
}

/** Tries of one lane before the delivery is left to another time. */
const TRIES = 10;

/** Appends every intent of `message` that is missing in `state`, side by side. */
export async function deriveIntents(
  house: House,
  state: ConversationState,
  message: ModelMessageV1,
  origin: Origin,
): Promise<void> {
  await Promise.all(missingIntents(state, message).map((draft) => appendIntent(house, draft, origin)));
}

/** As `deriveIntents`, for an answer that is in the log already. */
export async function deriveStored(
  house: House,
  state: ConversationState,
  answer: AssistantEntry,
  origin: Omit<Origin, 'messageId'>,
): Promise<void> {
  const open = answer.parts.some((part) => part.type === 'tool_call' && isUnderived(state, part.intent));
  if (!open) return;
  const { tenant, session } = origin.requested.envelope;
  const filter = laneFilter({ tenant, session, lane: 's' });
  const range = { filter, fromSeq: answer.seq, throughSeq: answer.seq };
  const [entry] = await reading(readRange(house.bus, range));
  if (!entry || !isEvent(entry, 'model.message')) throw new Error(`no model.message at ${answer.seq}`);
  await deriveIntents(house, state, entry.data, { ...origin, messageId: entry.envelope.id });
}

async function appendIntent(
  house: House,
  { intent, data, ...draft }: IntentDraft,
  origin: Origin,
): Promise<void> {
  const { tenant, session, run, turn } = origin.requested.envelope;
  const event = { type: 'tool.intent', data, run, turn, causationid: origin.messageId } as const;
  let { tail } = draft;
  for (let tries = 0; tries < TRIES; tries++) {
    const place = { tenant, session, lane: 'i', intent } as const;
    const result = await append(house.bus, house.writer, place, tail, {
      ...event,
      traceparent: origin.traceparent,
    });
    if (result.ok) return;
    const state = await reading(house.folds.latest(tenant, session));
    if (!isUnderived(state, intent)) return;
    tail = tailOf(state, intent);
  }
  throw new RetryableError('lane_conflict', `the lane of intent ${intent} does not come to rest`);
}
