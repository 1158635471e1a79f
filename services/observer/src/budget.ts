import type { Budgets, FinishReason, ModelRequestedV1, RunState } from '@interlock/contracts';
import { totalTokens } from '@interlock/contracts';

/** The budget that forbids another request; null when none does. Wall time is not looked at here: a timer cancels. */
export function exhausted(
  run: RunState,
  budgets: Budgets,
  isNewTurn: boolean,
): { readonly reason: Extract<FinishReason, 'max_turns' | 'budget'>; readonly detail: string } | null {
  const { maxTurns, maxTokens, maxCostUsd } = budgets;
  if (isNewTurn && maxTurns !== undefined && run.turn >= maxTurns) {
    return { reason: 'max_turns', detail: `${run.turn} of ${maxTurns} turns are used` };
  }
  const tokens = totalTokens(run.usage);
  if (maxTokens !== undefined && tokens >= maxTokens) {
    return { reason: 'budget', detail: `${tokens} of ${maxTokens} tokens are used` };
  }
  if (maxCostUsd !== undefined && run.costUsd !== null && run.costUsd >= maxCostUsd) {
    return { reason: 'budget', detail: `${run.costUsd} of ${maxCostUsd} USD are used` };
  }
  return null;
}

/**
 * What is left when a turn is requested: turns that may follow it, tokens, cost. Null where there is no limit. A cost
 * that no provider has told counts as none.
 */
export function budgetLeft(run: RunState, budgets: Budgets, turn: number): ModelRequestedV1['budgetLeft'] {
  const { maxTurns, maxTokens, maxCostUsd } = budgets;
  return {
    turns: maxTurns === undefined ? null : Math.max(0, maxTurns - turn),
    tokens: maxTokens === undefined ? null : Math.max(0, maxTokens - totalTokens(run.usage)),
    costUsd: maxCostUsd === undefined ? null : Math.max(0, maxCostUsd - (run.costUsd ?? 0)),
  };
}
