/** CPU time of processes, by the kernel's own count. */
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** User and system seconds of these processes so far; one that is gone counts 0. */
export function cpuSeconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The command's name may hold blanks: fields are counted after its closing bracket.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')))
        throw error;
    }
  }
  return ticks / TICKS_PER_SECOND;
}
