/**
 * The state of a workspace, to be compared with a later one: every file with its size, times, mode and hash.
 *
 * S1. Nothing is left out in silence: what is not looked into is named in `excluded`.
 * S2. A file is read again only when something about it differs from the index, or when it changed so shortly before
 *     it was indexed that a later change could hide behind the same time.
 */
import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { sha256Hex } from '@interlock/kit/pure';
import { isDraftName } from '../workspace/atomic-write.ts';
import { isHidden, type Workspace } from '../workspace/paths.ts';

export interface FileState {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  readonly mode: bigint;
  /** Null for what has no content to hash: a pipe, a socket, a file that may not be read or is too large. */
  readonly sha256: string | null;
  /** True when its times are too near to the moment it was looked at to be trusted. */
  readonly fresh: boolean;
}

export interface Snapshot {
  /** By path below the workspace. */
  readonly files: ReadonlyMap<string, FileState>;
  /** What was not looked into, and why. */
  readonly excluded: readonly string[];
  /** `.git` directories and files, by path below the workspace. */
  readonly repositories: readonly string[];
}

/** Directories whose content is not looked at. */
const SKIPPED: Readonly<Record<string, string>> = {
  '.git': 'internals of version control',
  node_modules: 'installed packages',
};
/** Larger files are compared by size and times alone. */
const MAX_HASHED_BYTES = 64 * 1024 * 1024;
/** Resolution that file times are trusted to, in nanoseconds. */
const TIME_GRAIN_NS = 20_000_000n;
/** How long other work waits for a scan. */
const SLICE_MS = 8;

interface Scan {
  readonly workspace: Workspace;
  readonly index: ReadonlyMap<string, FileState>;
  /** `.git` directories that were there before; one that a command makes is looked into. */
  readonly knownRepositories: ReadonlySet<string> | null;
  readonly files: Map<string, FileState>;
  readonly excluded: Map<string, number>;
  readonly repositories: string[];
  readonly unhashed: string[];
}

export interface SnapshotOptions {
  /** An earlier snapshot, whose hashes are kept for files that have not changed. */
  readonly index: Snapshot | null;
  /** The snapshot that this one will be compared with; absent: this one is the first of the two. */
  readonly since?: Snapshot | undefined;
}

/** Looks at the whole workspace. */
export async function takeSnapshot(
  workspace: Workspace,
  { index, since }: SnapshotOptions,
): Promise<Snapshot> {
  const scan: Scan = {
    workspace,
    index: index?.files ?? new Map(),
    knownRepositories: since ? new Set(since.repositories) : null,
    files: new Map(),
    excluded: new Map(),
    repositories: [],
    unhashed: [],
  };
  const directories = [''];
  let sliceStart = performance.now();
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const name of namesIn(join(workspace.root, directory))) {
      const relative = directory === '' ? name : `${directory}/${name}`;
      if (look(scan, relative, name)) directories.push(relative);
      if (performance.now() - sliceStart > SLICE_MS) {
        await yieldToOthers();
        sliceStart = performance.now();
      }
    }
  }
  return { files: scan.files, excluded: excludedOf(scan), repositories: scan.repositories };
}

/** Takes an entry in; true when it is a directory to go into. */
function look(scan: Scan, relative: string, name: string): boolean {
  const path = join(scan.workspace.root, relative);
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stats || isDraftName(name)) return false;
  if (isHidden(scan.workspace, path)) {
    scan.excluded.set('files of the house', (scan.excluded.get('files of the house') ?? 0) + 1);
    return false;
  }
  // Never a link: it would be mounted as what it leads to.
  if (name === '.git' && (stats.isDirectory() || stats.isFile())) scan.repositories.push(relative);
  if (stats.isDirectory()) return enters(scan, relative, name);
  scan.files.set(relative, stateOf(scan, relative, stats));
  return false;
}

function enters({ knownRepositories, excluded }: Scan, relative: string, name: string): boolean {
  const why = SKIPPED[name];
  if (why === undefined) return true;
  if (name === '.git' && knownRepositories && !knownRepositories.has(relative)) return true;
  const label = `${name} (${why})`;
  excluded.set(label, (excluded.get(label) ?? 0) + 1);
  return false;
}

function excludedOf({ excluded, unhashed }: Scan): string[] {
  return [
    ...[...excluded.keys()].sort(),
    ...unhashed.map((path) => `${path} (too large or not readable: compared by size and time)`),
  ];
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Gone meanwhile, or not ours to read; what is in it is told by the directory being missing from both sides.
    return [];
  }
}

function stateOf(scan: Scan, relative: string, stats: BigIntStats): FileState {
  const { size, mtimeNs, ctimeNs, ino, mode } = stats;
  const known = scan.index.get(relative);
  const fresh = BigInt(Date.now()) * 1_000_000n - ctimeNs < TIME_GRAIN_NS;
  if (known && !known.fresh && isSame(known, stats)) return known;
  const sha256 = hashOf(join(scan.workspace.root, relative), stats);
  if (sha256 === null && stats.isFile()) scan.unhashed.push(relative);
  return { size, mtimeNs, ctimeNs, ino, mode, sha256, fresh };
}

function isSame(known: FileState, stats: BigIntStats): boolean {
  return (
    known.size === stats.size &&
    known.mtimeNs === stats.mtimeNs &&
    known.ctimeNs === stats.ctimeNs &&
    known.ino === stats.ino &&
    known.mode === stats.mode
  );
}

const buffer = Buffer.alloc(256 * 1024);

function hashOf(path: string, stats: BigIntStats): string | null {
  if (stats.isSymbolicLink()) return linkHash(path);
  if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) return null;
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return fstatSync(descriptor).isFile() ? hashDescriptor(descriptor) : null;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Not readable, or gone since it was listed.
    return null;
  }
}

function linkHash(path: string): string | null {
  try {
    return sha256Hex(`link:${readlinkSync(path)}`);
  } catch {
    return null;
  }
}

function hashDescriptor(descriptor: number): string {
  let length = readSync(descriptor, buffer, 0, buffer.length, null);
  if (length < buffer.length) return sha256Hex(buffer.subarray(0, length));
  const hash = createHash('sha256');
  while (length > 0) {
    hash.update(buffer.subarray(0, length));
    length = readSync(descriptor, buffer, 0, buffer.length, null);
  }
  return hash.digest('hex');
}
