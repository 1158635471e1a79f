/** Steps as drafts. Pure: time, ids and tools are inputs. */
import {
  type ConversationState,
  type EventInput,
  PROJECTION,
  projectContext,
  type VisibleTool,
} from '@interlock/contracts';
import { contextSnapshotId } from '@interlock/kit/pure';
import type { Step } from './decide.ts';

export interface JournalDraft<Type extends 'run.started' | 'run.finished' | 'model.requested'> {
  readonly type: Type;
  readonly run: string;
  readonly turn?: number;
  readonly data: EventInput<Type>;
}

export function startDraft(step: Extract<Step, { kind: 'start' }>, run: string): JournalDraft<'run.started'> {
  return { type: 'run.started', run, data: { number: step.number } };
}

/** The end of the run under way, with what it used. */
export function finishDraft(
  state: ConversationState,
  step: Extract<Step, { kind: 'finish' }>,
): JournalDraft<'run.finished'> {
  const { run } = state;
  if (!run) throw new Error('no run is under way');
  const { reason, detail, throughSeq } = step;
  return {
    type: 'run.finished',
    run: run.id,
    ...(run.turn > 0 ? { turn: run.turn } : {}),
    data: {
      reason,
      ...(detail === undefined ? {} : { detail }),
      turns: run.turn,
      usage: run.usage,
      costUsd: run.costUsd,
      throughSeq,
    },
  };
}

/** A request that names its context: what the log says through `throughSeq`, shown with these tools. */
export function requestDraft(
  state: ConversationState,
  step: Extract<Step, { kind: 'request' }>,
  shown: { readonly throughSeq: number; readonly tools: readonly VisibleTool[] },
): JournalDraft<'model.requested'> {
  const { run, opened } = state;
  if (!run || !opened) throw new Error('no run is under way');
  const { throughSeq, tools } = shown;
  return {
    type: 'model.requested',
    run: run.id,
    turn: step.turn,
    data: {
      provider: opened.model.provider,
      model: opened.model.model,
      contextSnapshotId: contextSnapshotId(projectContext(state, { throughSeq, tools })),
      throughSeq,
      projection: PROJECTION,
      tools: [...tools],
      because: step.because,
      budgetLeft: step.budgetLeft,
    },
  };
}
