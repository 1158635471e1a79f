/**
 * `nextStep`: what the session journal needs next. Pure: the fold of a session in, one step out.
 *
 * D1. No request while a call is open, a request is open, or the run is being stopped.
 * D2. A run that ends gives back every message of people that no turn has taken: it starts the next run. Only a
 *     person's cancel takes messages with it, and only those said before it.
 * D3. The step rests on what can only grow (observations, answers), so an old fold may miss a step but never makes a
 *     wrong one; the journal's comparison lets one of several deciders through.
 */
import {
  type AssistantEntry,
  type ConversationState,
  currentMessage,
  type FinishReason,
  type ModelRequestedV1,
  openCalls,
  type RunState,
} from '@interlock/contracts';
import { budgetLeft, exhausted } from './budget.ts';
import { type Request, verdictOn } from './stop-table.ts';
import { stoppingOf } from './stopping.ts';

export type Step =
  | { readonly kind: 'nothing'; readonly why: string }
  | { readonly kind: 'start'; readonly number: number }
  | {
      readonly kind: 'request';
      readonly turn: number;
      readonly because: ModelRequestedV1['because'];
      readonly budgetLeft: ModelRequestedV1['budgetLeft'];
    }
  | {
      readonly kind: 'finish';
      readonly reason: FinishReason;
      readonly detail?: string;
      /** Messages of people up to here are done with. */
      readonly throughSeq: number;
    };

export interface StepInputs {
  /** Everything of the session up to here is in the state. Own appends that were folded in ahead do not count. */
  readonly throughSeq: number;
  /** Requests of one turn at most. */
  readonly maxRequestsPerTurn: number;
  /** The open request of this id will get no answer that counts: its gateway was told to stop and did not. */
  readonly gaveUpOn?: string | undefined;
  /** The open request of this id is lost: no gateway can handle it. */
  readonly lost?: { readonly requestId: string; readonly why: string } | undefined;
}

const nothing = (why: string): Step => ({ kind: 'nothing', why });

/** The next step of the session journal. Total. */
export function nextStep(state: ConversationState, inputs: StepInputs): Step {
  if (!state.opened) return nothing('the session was never opened');
  const { run, request } = state;
  if (!run) return startStep(state);
  if (stoppingOf(state)) return stopStep(state, inputs);
  if (request) {
    const { lost } = inputs;
    if (lost?.requestId !== request.id) return nothing('the model answers');
    return finish(state, inputs, { reason: 'model_failed', detail: lost.why });
  }
  if (openCalls(state).length > 0) return nothing('calls are open');
  const verdict = verdictOn(run);
  return verdict.kind === 'finish' ? finish(state, inputs, verdict) : requestStep(state, inputs, verdict);
}

function startStep(state: ConversationState): Step {
  if (state.closed) return nothing('the session is closed');
  if (state.pending.length === 0) return nothing('nobody has said anything new');
  return { kind: 'start', number: (state.lastRun?.number ?? 0) + 1 };
}

function stopStep(state: ConversationState, inputs: StepInputs): Step {
  const { request } = state;
  // A request without an attempt needs no gateway to end it: none can claim it once the run is finished.
  if (request?.attempt && request.id !== inputs.gaveUpOn && request.id !== inputs.lost?.requestId) {
    return nothing('the model is told to stop');
  }
  if (openCalls(state).length > 0) return nothing('calls are being stopped');
  const stopping = stoppingOf(state);
  return stopping ? finish(state, inputs, stopping) : nothing('nothing stops the run');
}

function requestStep(state: ConversationState, inputs: StepInputs, { because }: Request): Step {
  const { run, opened } = state;
  if (!run || !opened) return nothing('no run is under way');
  if (run.last?.kind === 'message' && because === 'next_turn' && !asksForMore(state, run)) {
    return finish(state, inputs, { reason: 'completed' });
  }
  const isNewTurn = because === 'next_turn';
  const spent = exhausted(run, opened.budgets, isNewTurn) ?? tooManyRequests(state, inputs, isNewTurn);
  if (spent) return finish(state, inputs, spent);
  const turn = isNewTurn ? run.turn + 1 : run.turn;
  return { kind: 'request', turn, because, budgetLeft: budgetLeft(run, opened.budgets, turn) };
}

/** A message without calls has nothing to go on with, whatever its stop says (`unknown` without calls is an end). */
function asksForMore(state: ConversationState, run: RunState): boolean {
  const message = currentMessage(state);
  return (
    run.cutInRow > 0 ||
    message?.parts.some((part) => part.type === 'tool_call' || part.type === 'rejected_call') === true
  );
}

function tooManyRequests(
  state: ConversationState,
  { maxRequestsPerTurn }: StepInputs,
  isNewTurn: boolean,
): { reason: 'budget'; detail: string } | null {
  const { run } = state;
  if (isNewTurn || !run) return null;
  const isOfTurn = (entry: AssistantEntry): boolean => entry.run === run.id && entry.turn === run.turn;
  const answers = state.entries.filter((entry) => entry.kind === 'assistant' && isOfTurn(entry)).length;
  if (answers < maxRequestsPerTurn) return null;
  return { reason: 'budget', detail: `the model asked to go on ${answers} times within one turn` };
}

function finish(
  state: ConversationState,
  inputs: StepInputs,
  end: { reason: FinishReason; detail?: string },
): Step {
  const takenBack = stoppingOf(state)?.takesBackThrough ?? 0;
  const kept = state.pending.find((entry) => entry.seq > takenBack);
  const throughSeq = kept ? kept.seq - 1 : inputs.throughSeq;
  return {
    kind: 'finish',
    reason: end.reason,
    ...(end.detail === undefined ? {} : { detail: end.detail }),
    throughSeq,
  };
}
