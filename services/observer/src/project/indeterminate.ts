import { ERRORS, type ToolExecutionCompletedV1 } from '@interlock/contracts';
import { clip } from './bytes.ts';
import { projectExecution } from './completed.ts';
import { fact, type Projection, type ProjectOptions, untrusted } from './projection.ts';

const PROBE_BYTES = 1024;

/** Nobody knows whether the call happened. It is said so, with what a look at the world found. */
export function projectIndeterminate(data: ToolExecutionCompletedV1, options: ProjectOptions): Projection {
  const { code, probe } = data;
  const why = code === undefined ? '' : ` (${code}): ${ERRORS[code].meaning}`;
  const seen = probe
    ? [fact('A look at the world afterwards found:'), untrusted(clip(probe, PROBE_BYTES))]
    : [fact('Nobody looked at the world afterwards.')];
  const opening = [
    fact(`It is not known whether this call happened${why === '' ? '.' : why}`),
    fact('It may have happened in whole, in part or not at all.'),
    ...seen,
  ];
  return projectExecution(
    data,
    { ending: 'indeterminate', opening, message: data.message, ran: hasRun(data) },
    options,
  );
}

/** Something is known of what ran. */
function hasRun({ exitCode, signal, durationMs, effects }: ToolExecutionCompletedV1): boolean {
  return exitCode !== null || signal !== null || durationMs > 0 || effects.files.length > 0;
}
