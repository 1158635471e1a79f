/** Logs to decide upon: given these facts, when the observer looks, then this is the step. */
import type { Budgets, ConversationState, Stage } from '@interlock/contracts';
import { LogBuilder, modelTurn, sample, startRun, takeCall, toolCall } from '@interlock/contracts/testing';
import { nextStep, type Step, type StepInputs } from '../src/decide.ts';

const INPUTS = { maxRequestsPerTurn: 32 };

/** The step due at the end of the log. */
export function stepOf(log: LogBuilder, inputs: Partial<StepInputs> = {}): Step {
  return stepIn(log.state(), inputs);
}

export function stepIn(state: ConversationState, inputs: Partial<StepInputs> = {}): Step {
  return nextStep(state, { ...INPUTS, throughSeq: state.throughSeq, ...inputs });
}

export function opened(budgets: Budgets = {}): LogBuilder {
  const log = new LogBuilder();
  log.append('session.opened', sample('session.opened', { budgets }));
  return log;
}

/** A run is under way, nothing was asked yet. */
export function started(budgets: Budgets = {}): LogBuilder {
  const log = opened(budgets);
  startRun(log);
  return log;
}

/** The model is being asked; `attempt`: a gateway has claimed it. */
export function asked(attempt: 'claimed' | 'unclaimed' = 'claimed', budgets: Budgets = {}): LogBuilder {
  const log = started(budgets);
  log.append('model.requested', sample('model.requested', { throughSeq: log.seq }));
  if (attempt === 'claimed') log.append('model.attempt.started', sample('model.attempt.started'));
  return log;
}

/** The model made these calls, each at its stage. */
export function called(stages: Readonly<Record<string, Stage>>, budgets: Budgets = {}): LogBuilder {
  const log = started(budgets);
  modelTurn(
    log,
    Object.keys(stages).map((intent) => toolCall(intent)),
  );
  for (const [intent, stage] of Object.entries(stages)) takeCall(log, intent, stage);
  return log;
}

export function says(log: LogBuilder, text = 'and this'): number {
  return log.append('user.message', sample('user.message', { text })).seq;
}
