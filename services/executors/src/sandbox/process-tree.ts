/** Finding and ending what a command started. By process id only. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ids of all descendants of a process, nearest first. Empty where `/proc` cannot tell. */
export function descendantsOf(pid: number): number[] {
  const children = childrenByParent();
  const found: number[] = [];
  const queue = [pid];
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift()) {
    for (const child of children.get(parent) ?? []) {
      found.push(child);
      queue.push(child);
    }
  }
  return found;
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of listProcesses()) {
    const parent = parentOf(name);
    if (parent === null) continue;
    const known = children.get(parent);
    if (known) known.push(Number(name));
    else children.set(parent, [Number(name)]);
  }
  return children;
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // No /proc: only the process group can be ended.
    return [];
  }
}

function parentOf(pid: string): number | null {
  try {
    // The name, in parentheses, may hold anything; the fields after the last one do not.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It ended while it was listed.
    return null;
  }
}

/** Variable that marks what a command starts, for the processes that leave its group and its parent. */
export const MARKER = 'INTERLOCK_CALL';

/** Ids of processes that carry the marker of an environment. */
export function processesMarked(env: Readonly<Record<string, string>>): number[] {
  const marker = env[MARKER];
  if (marker === undefined) return [];
  return listProcesses()
    .filter((pid) => environmentOf(pid).includes(`${MARKER}=${marker}\0`))
    .map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    // Of another user, or gone.
    return '';
  }
}

/** Sends a signal; a process that is gone is what was wanted. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')))
      throw error;
  }
}
