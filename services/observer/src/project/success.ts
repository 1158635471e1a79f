import type { ToolExecutionCompletedV1 } from '@interlock/contracts';
import { projectExecution } from './completed.ts';
import { fact, type Projection, type ProjectOptions } from './projection.ts';

/** The call did what it was asked to do. */
export function projectSuccess(data: ToolExecutionCompletedV1, options: ProjectOptions): Projection {
  const isSilent = data.output.every(({ text, omittedBytes }) => text === '' && omittedBytes === 0);
  const opening = isSilent ? 'The call succeeded and put nothing out.' : 'The call succeeded.';
  return projectExecution(
    data,
    { ending: 'success', opening: [fact(opening)], message: data.message, ran: true },
    options,
  );
}
