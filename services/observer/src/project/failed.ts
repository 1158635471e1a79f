import { ERRORS, type ToolExecutionCompletedV1 } from '@interlock/contracts';
import { projectExecution } from './completed.ts';
import { fact, type Projection, type ProjectOptions } from './projection.ts';

/** The call ran and did not do what it was asked to do. What it did until then stays done. */
export function projectFailed(data: ToolExecutionCompletedV1, options: ProjectOptions): Projection {
  const why = data.code === undefined ? '' : ` (${data.code}): ${ERRORS[data.code].meaning}`;
  return projectExecution(
    data,
    {
      ending: 'failed',
      opening: [fact(why === '' ? 'The call failed.' : `The call failed${why}`)],
      message: data.message,
      ran: true,
    },
    options,
  );
}
