/**
 * What to do for a `model.requested`, from the folded state alone. Pure.
 *
 * D1. A request that is closed (answered, failed, its run over) is never called for again; of its answer, the intents
 *     that are missing are derived.
 * D2. A cancelled run gets no call.
 * D3. The context is what this gateway folds; where its hash is not the one asked for, nothing is called.
 * D4. A projection this gateway does not know is left to one that does.
 */
import {
  type AssistantEntry,
  type ContextPart,
  type ConversationState,
  PROJECTION,
  projectContext,
  type StoredEventOf,
} from '@interlock/contracts';
import { contextSnapshotId } from '@interlock/kit/pure';
import type { FailureCategory } from './provider.ts';

interface DecideOptions {
  /** Attempts a request may have, those lost in a crash included. */
  readonly maxAttempts: number;
  /** Names of the providers at hand. */
  readonly providers: ReadonlySet<string>;
}

export type Plan =
  /** The request is closed. `answer`: the message whose intents may be missing; null where there is none. */
  | { readonly kind: 'closed'; readonly answer: AssistantEntry | null }
  | { readonly kind: 'fail'; readonly category: FailureCategory; readonly message: string }
  | { readonly kind: 'leave'; readonly projection: string }
  | { readonly kind: 'call'; readonly attempt: number; readonly context: readonly ContextPart[] };

export function decide(
  state: ConversationState,
  requested: StoredEventOf<'model.requested'>,
  options: DecideOptions,
): Plan {
  const { request } = state;
  if (request?.id !== requested.envelope.id)
    return { kind: 'closed', answer: answerAfter(state, requested.seq) };
  if (state.run?.cancel) return fail('model_cancelled', `the run was cancelled by ${state.run.cancel.by}`);
  const { throughSeq, tools, projection, provider } = requested.data;
  if (projection !== PROJECTION) return { kind: 'leave', projection };
  if (!options.providers.has(provider)) {
    return fail('model_not_found', `this gateway has no provider "${provider}" (or no key for it)`);
  }
  const context = projectContext(state, { throughSeq, tools });
  const found = contextSnapshotId(context);
  if (found !== requested.data.contextSnapshotId) {
    return fail('context_mismatch', `asked for ${requested.data.contextSnapshotId}, the log says ${found}`);
  }
  const attempt = (request.attempt?.number ?? 0) + 1;
  if (attempt > options.maxAttempts) {
    return fail('internal', `${attempt - 1} attempts were started and the last was lost`);
  }
  return { kind: 'call', attempt, context };
}

function fail(category: FailureCategory, message: string): Plan {
  return { kind: 'fail', category, message };
}

/** Requests of a session follow one another, so the first answer stored after a request that is closed is its own, if it has one. */
function answerAfter(state: ConversationState, seq: number): AssistantEntry | null {
  const entry = state.entries.find((candidate) => candidate.kind === 'assistant' && candidate.seq > seq);
  return entry?.kind === 'assistant' ? entry : null;
}
