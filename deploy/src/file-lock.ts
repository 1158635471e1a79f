/** A lock by a file, for a few lines of work; one whose holder died is taken over after ten seconds. */
import { rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const STALE_MS = 10_000;

/** Runs `act` while nobody else runs under `path`. */
export async function withFileLock<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    if (await isStale(path)) await rm(path, { force: true });
    else await sleep(20);
  }
  try {
    return await act();
  } finally {
    await rm(path, { force: true });
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_MS;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Whether an error is the system's error of this code (`ENOENT`, `EEXIST`). */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
