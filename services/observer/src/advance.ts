/** Moves a session's journal: fold, next step, append by comparison, on a conflict fold again. */
import { type ConversationState, evolve } from '@interlock/contracts';
import { type AnyDraft, RetryableError } from '@interlock/kit';
import { nextStep, type Step, type StepInputs } from './decide.ts';
import { finishDraft, requestDraft, startDraft } from './drafts.ts';
import type { Cause, Ports, SessionRef } from './ports.ts';

/** How often a journal is decided upon anew before the delivery is left for later. */
const ROUNDS = 50;

export type AdvanceInputs = Pick<StepInputs, 'gaveUpOn' | 'lost'>;

/**
 * Takes the steps that are due. A run that starts gets its first request with it, since nobody is woken by
 * `run.started`; after a request or an end, the next delivery decides on.
 * @param fold complete through its `throughSeq`
 * @returns the state after the steps, own appends folded in
 * @throws RetryableError `lane_conflict` when others keep winning, and what reading and appending throw
 */
export async function advance(
  ports: Ports,
  ref: SessionRef,
  fold: ConversationState,
  { cause, ...inputs }: AdvanceInputs & { readonly cause: Cause },
): Promise<ConversationState> {
  const { log, config, metrics } = ports;
  let state = fold;
  let { throughSeq } = fold;
  let causedBy = cause;
  for (let round = 0; round < ROUNDS; round++) {
    const step = nextStep(state, {
      throughSeq,
      maxRequestsPerTurn: config.maxRequestsPerTurn,
      ...inputs,
    });
    if (step.kind === 'nothing') return state;
    const draft = await draftOf(ports, state, { step, throughSeq });
    const { id: causationid, traceparent } = causedBy;
    const appended = await log.append({ ...ref, lane: 's' }, state.journal.tail, {
      ...draft,
      causationid,
      traceparent,
    } as AnyDraft);
    if (!appended.ok) {
      state = await log.latest(ref);
      throughSeq = state.throughSeq;
      continue;
    }
    // Only the journal is known to hold nothing in between, so the fold stays complete through where it was.
    state = evolve(state, appended.entry);
    causedBy = { id: appended.entry.envelope.id, traceparent };
    if (step.kind === 'finish') metrics.runsFinished.inc({ reason: step.reason });
    if (step.kind !== 'start') return state;
  }
  throw new RetryableError(
    'lane_conflict',
    `the journal of ${ref.session} changed ${ROUNDS} times while it was decided upon`,
  );
}

async function draftOf(
  ports: Ports,
  state: ConversationState,
  { step, throughSeq }: { readonly step: Exclude<Step, { kind: 'nothing' }>; readonly throughSeq: number },
): Promise<object> {
  switch (step.kind) {
    case 'start':
      return startDraft(step, ports.ids.ulid());
    case 'finish':
      return finishDraft(state, step);
    case 'request': {
      const mode = state.opened?.mode ?? 'normal';
      return requestDraft(state, step, { throughSeq, tools: await ports.tools(state.tenant, mode) });
    }
  }
}
