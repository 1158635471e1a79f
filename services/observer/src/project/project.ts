/** Facts to observation: one projection for each way a call can end. Pure. */
import type { StoredEventOf, ToolExecutionCompletedV1 } from '@interlock/contracts';
import { projectCancelled } from './cancelled.ts';
import { projectDenied } from './denied.ts';
import { projectFailed } from './failed.ts';
import { projectIndeterminate } from './indeterminate.ts';
import { projectInvalid } from './invalid.ts';
import type { Projection, ProjectOptions } from './projection.ts';
import { projectRefused } from './refused.ts';
import { projectSuccess } from './success.ts';

/** An event that ends a call. */
export type Ending =
  | StoredEventOf<'tool.execution.completed'>
  | StoredEventOf<'tool.validation_failed'>
  | StoredEventOf<'tool.approval.denied'>
  | StoredEventOf<'tool.cancelled'>;

/** The observation of a call from the event that ended it. Total. */
export function project(ending: Ending, options: ProjectOptions): Projection {
  switch (ending.type) {
    case 'tool.execution.completed':
      return projectCompleted(ending.data, options);
    case 'tool.validation_failed':
      return projectInvalid(ending.data, options);
    case 'tool.approval.denied':
      return projectDenied(ending.data);
    case 'tool.cancelled':
      return projectCancelled(ending.data);
  }
}

function projectCompleted(data: ToolExecutionCompletedV1, options: ProjectOptions): Projection {
  switch (data.outcome) {
    case 'success':
      return projectSuccess(data, options);
    case 'failed':
      return projectFailed(data, options);
    case 'refused':
      return projectRefused(data, options);
    case 'indeterminate':
      return projectIndeterminate(data, options);
  }
}
