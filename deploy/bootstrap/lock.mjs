// One set-up at a time in a checkout. The lock is a folder that holds one file named after its owner's process id.
//  L1  Taking it is one atomic rename of a prepared folder: it fails while the lock folder is not empty.
//  L2  A dead owner's lock is broken by removing the file *of that owner*, so two who break it at once, or one who
//      comes late, can never remove a living owner's.
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const GIVE_UP_AFTER_MS = 600_000;

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function owners(lock) {
  try {
    return readdirSync(lock).map(Number);
  } catch {
    return [];
  }
}

function tryTake(tools, lock) {
  const prepared = mkdtempSync(join(tools, 'lock-'));
  writeFileSync(join(prepared, String(process.pid)), '');
  try {
    renameSync(prepared, lock);
    return true;
  } catch {
    rmSync(prepared, { recursive: true, force: true });
    return false;
  }
}

/**
 * Waits for the lock of `tools` and takes it.
 * @param {string} tools
 * @param {(pid: number) => void} onWait called once, when somebody else holds it
 * @returns {Promise<() => void>} gives it back; safe to call twice
 */
export async function takeLock(tools, onWait) {
  mkdirSync(tools, { recursive: true });
  const lock = join(tools, 'lock');
  const started = Date.now();
  let told = false;
  while (!tryTake(tools, lock)) {
    for (const pid of owners(lock)) {
      if (!isAlive(pid)) rmSync(join(lock, String(pid)), { force: true });
      else if (!told) {
        told = true;
        onWait(pid);
      }
    }
    if (Date.now() - started > GIVE_UP_AFTER_MS) {
      throw new Error(
        `another set-up has held ${lock} for ten minutes; if none is running, remove that folder`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const release = () => {
    rmSync(join(lock, String(process.pid)), { force: true });
    try {
      rmdirSync(lock);
    } catch {
      // The next one has taken it between the two calls: it is theirs now.
    }
  };
  process.once('exit', release);
  return release;
}
