/**
 * The note `house.json` in the state folder: how a command finds a house that runs.
 *
 * R1. One house a state folder: a note is written under a lock, and only a stale one is replaced.
 * R2. A note is stale when the process that wrote it is gone, or its id belongs to another process by now.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { hasCode, withFileLock } from './file-lock.ts';

const noteSchema = z.object({
  /** Absent while it is starting. */
  url: z.string().optional(),
  /** The process that holds the house. */
  pid: z.int().positive(),
  /** When that process began, in the kernel's own count; tells it from another one of the same id. */
  birth: z.string(),
  startedAt: z.string(),
  person: z.string(),
  /** Whether the server asks for NKeys. */
  nkeys: z.boolean(),
  /** It ends with the command that started it: others had better not count on it. */
  isPrivate: z.boolean(),
  /** Where the person works. */
  workspace: z.string().optional(),
  /** Process ids by service; the holder's own where all run in it. */
  pids: z.record(z.string(), z.int()),
});
export type HouseNote = z.infer<typeof noteSchema>;

/** A house runs already on this state folder. */
export class HouseRunningError extends Error {
  override readonly name = 'HouseRunningError';
  readonly code = 'house_running';
  readonly note: HouseNote;
  constructor(file: string, note: HouseNote) {
    super(
      `a house runs already (process ${note.pid}, ${file}): use it, stop it, or name another state folder`,
    );
    this.note = note;
  }
}

/** This process's note, for a house that is starting. */
export function newNote(about: Pick<HouseNote, 'person' | 'nkeys' | 'isPrivate' | 'workspace'>): HouseNote {
  const startedAt = new Date().toISOString();
  return { ...about, pid: process.pid, birth: birthOf(process.pid), startedAt, pids: {} };
}

/**
 * Takes the state folder for this process.
 * @throws HouseRunningError when another process has it
 */
export async function takeNote(file: string, note: HouseNote): Promise<void> {
  await withFileLock(`${file}.lock`, async () => {
    const present = await readNote(file);
    if (present && isAlive(present)) throw new HouseRunningError(file, present);
    await updateNote(file, note);
  });
}

/** Replaces this process's note as a whole. */
export async function updateNote(file: string, note: HouseNote): Promise<void> {
  await writeFile(`${file}.${process.pid}`, text(note), { mode: 0o600 });
  await rename(`${file}.${process.pid}`, file);
}

export async function dropNote(file: string): Promise<void> {
  const present = await readNote(file);
  if (present?.pid === process.pid) await rm(file, { force: true });
}

/** The note of a house that runs and has finished starting; null when there is none. A stale note is left where it is. */
export async function findNote(file: string): Promise<(HouseNote & { readonly url: string }) | null> {
  const note = await readNote(file);
  return note?.url !== undefined && isAlive(note) ? { ...note, url: note.url } : null;
}

async function readNote(file: string): Promise<HouseNote | null> {
  if (!existsSync(file)) return null;
  try {
    const parsed = noteSchema.safeParse(JSON.parse(await readFile(file, 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    // Half written by a process that died, or removed a moment ago: as good as none.
    return null;
  }
}

function isAlive({ pid, birth }: HouseNote): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process is alive as well.
    if (!hasCode(error, 'EPERM')) return false;
  }
  return birthOf(pid) === birth;
}

/** Start time of a process as Linux counts it (field 22 of `/proc/<pid>/stat`); empty elsewhere. */
function birthOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function text(note: HouseNote): string {
  return `${JSON.stringify(note, null, 2)}\n`;
}
