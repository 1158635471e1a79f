import { ERRORS, type ToolExecutionCompletedV1 } from '@interlock/contracts';
import { projectExecution } from './completed.ts';
import { fact, type Projection, type ProjectOptions } from './projection.ts';

/** The executor did not take the call: nothing ran. */
export function projectRefused(data: ToolExecutionCompletedV1, options: ProjectOptions): Projection {
  const why = data.code === undefined ? '.' : ` (${data.code}): ${ERRORS[data.code].meaning}`;
  return projectExecution(
    data,
    {
      ending: 'refused',
      opening: [fact(`Nothing ran. The executor refused the call${why}`)],
      message: data.message,
      ran: false,
    },
    options,
  );
}
