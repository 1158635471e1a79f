/**
 * What the fold alone can say against a call: the tool's visibility, the mode, the budget. Files are the pool's to
 * judge, for only its host sees them. Pure.
 */
import {
  type Budgets,
  type ConversationState,
  ERRORS,
  type RunState,
  type ToolDefinition,
  totalTokens,
  type ValidationError,
  type VisibleTool,
} from '@interlock/contracts';
import { nearest } from './nearest.ts';

/** The tool as the model was shown it; null when it was not. */
export function visibleTool(state: ConversationState, tool: string): VisibleTool | null {
  return state.tools.find(({ name }) => name === tool) ?? null;
}

/**
 * The model named a tool that it was not shown.
 * @param registered true when a tool of that name exists in this house all the same
 */
export function notShown(state: ConversationState, tool: string, registered: boolean): ValidationError {
  const code = registered ? 'tool_not_visible' : 'unknown_tool';
  const names = state.tools.map(({ name }) => name);
  const meant = nearest(tool, names);
  const name = JSON.stringify(tool.slice(0, 80));
  return {
    path: '',
    code,
    message: registered
      ? `The tool ${name} exists but this session may not use it.`
      : `There is no tool ${name}.`,
    advice:
      meant === null ? ERRORS[code].advice : `Did you mean "${meant}"? The tools are: ${names.join(', ')}.`,
  };
}

/** Reasons why a call of a visible tool may not go on, whatever its input. */
export function semanticErrors(
  state: ConversationState,
  definition: ToolDefinition,
  now: Date,
): readonly ValidationError[] {
  return [...modeErrors(state, definition), ...budgetErrors(state, now)];
}

function modeErrors(state: ConversationState, definition: ToolDefinition): readonly ValidationError[] {
  const mode = state.opened?.mode ?? 'normal';
  if (definition.visibleIn.includes(mode)) return [];
  return [
    {
      path: '',
      code: 'tool_not_visible',
      message: `The tool "${definition.name}" may not be used in mode "${mode}".`,
      advice: ERRORS.tool_not_visible.advice,
    },
  ];
}

function budgetErrors(state: ConversationState, now: Date): readonly ValidationError[] {
  const { run, opened } = state;
  const spent = run && opened ? spentBudget(opened.budgets, run, now) : null;
  if (spent === null) return [];
  return [
    {
      path: '',
      code: 'budget_exhausted',
      message: `The budget of the run is used up: ${spent}.`,
      advice: ERRORS.budget_exhausted.advice,
    },
  ];
}

function spentBudget(budgets: Budgets, run: RunState, now: Date): string | null {
  const { maxTokens, maxCostUsd, maxWallMs } = budgets;
  const tokens = totalTokens(run.usage);
  if (maxTokens !== undefined && tokens >= maxTokens) return `${tokens} of ${maxTokens} tokens`;
  const costUsd = run.costUsd ?? 0;
  if (maxCostUsd !== undefined && costUsd >= maxCostUsd) {
    return `${costUsd.toFixed(4)} of ${maxCostUsd} US dollars`;
  }
  const wallMs = now.getTime() - Date.parse(run.startedAt) - waitedMs(run, now);
  if (maxWallMs !== undefined && wallMs >= maxWallMs) return `${wallMs} of ${maxWallMs} ms`;
  return null;
}

/** Waiting for people does not use up the wall-time budget. */
function waitedMs(run: RunState, now: Date): number {
  const present = run.waitingSince === null ? 0 : now.getTime() - Date.parse(run.waitingSince);
  return run.waitedMs + Math.max(0, present);
}
