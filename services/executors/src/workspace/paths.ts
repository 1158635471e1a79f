/**
 * The authority over paths: what a call names becomes one real path inside the workspace, or a refusal.
 *
 * A1. A path is judged twice: as it is written (`..`, another root) and as the kernel resolves it (symbolic links).
 *     Both must be inside. `/proc/self/cwd/…` is outside as written, whatever it leads to.
 * A2. Only the real path is used from here on; what is opened is checked again by the handle that was opened (`open.ts`).
 * A3. Nothing is opened to judge a path, so a pipe or a device can block nobody.
 */
import type { Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { ErrorCode } from '@interlock/contracts';

/** A directory that calls may work in. */
export interface Workspace {
  /** As the kernel resolves it. */
  readonly root: string;
  /** As it was named. */
  readonly named: string;
  /** Real paths that no call may see, where they lie in the workspace: keys and stores of the house. */
  readonly hidden: readonly string[];
}

export interface WorkspacePolicy {
  /** Directories below which workspaces may be; empty: anywhere but the machine's own directories. */
  readonly roots: readonly string[];
  readonly hidden: readonly string[];
}

export interface ResolvedPath {
  readonly ok: true;
  /** Below the workspace, with `/`; `.` for the workspace itself. */
  readonly relative: string;
  readonly real: string;
  readonly kind: 'file' | 'directory' | 'other' | 'missing';
  readonly stats: Stats | null;
}

export interface PathRefusal {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
}

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/** Directories that are no project: a workspace there would put the machine within reach. */
const NEVER_WORKSPACES: ReadonlySet<string> = new Set(
  [
    '/',
    '/bin',
    '/boot',
    '/dev',
    '/etc',
    '/home',
    '/lib',
    '/lib64',
    '/proc',
    '/root',
    '/run',
    '/sbin',
    '/sys',
  ].concat(['/tmp', '/usr', '/var']),
);

/** Opens a workspace by name. */
export async function openWorkspace(
  named: string,
  { roots, hidden }: WorkspacePolicy,
): Promise<{ readonly ok: true; readonly workspace: Workspace } | PathRefusal> {
  if (!isAbsolute(named))
    return refuse('invalid_path', `the workspace "${shown(named)}" is not an absolute path`);
  const wrong = textError(named);
  if (wrong) return refuse('invalid_path', wrong);
  let root: string;
  try {
    root = await realpath(named);
    if (!(await stat(root)).isDirectory())
      return refuse('invalid_path', `the workspace ${shown(named)} is not a directory`);
  } catch {
    return refuse('file_not_found', `the workspace directory ${shown(named)} does not exist here`);
  }
  const allowed = await realPaths(roots);
  const outside = allowed.length > 0 && !allowed.some((path) => isInside(path, root));
  if (outside || NEVER_WORKSPACES.has(root))
    return refuse('path_outside_workspace', `${shown(named)} may not be used as a workspace on this host`);
  const away = (await realPaths(hidden)).filter((path) => isInside(root, path));
  return { ok: true, workspace: { root, named: trimmed(normalize(named)), hidden: away } };
}

function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => normalize(path))));
}

/** Resolves a path that a call names. What is missing resolves to where it would be made. */
export async function resolvePath(workspace: Workspace, path: string): Promise<ResolvedPath | PathRefusal> {
  const wrong = textError(path);
  if (wrong) return refuse('invalid_path', wrong);
  const written = asWritten(workspace, path);
  if (written === null)
    return refuse('path_outside_workspace', `${shown(path)} leads out of the workspace ${workspace.root}`);
  try {
    const real = await realpath(written);
    if (!isInside(workspace.root, real)) return leadsOut(path, real);
    if (isHidden(workspace, real)) return belongsToHouse(path);
    const stats = await stat(real);
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
    return { ok: true, relative: relativeTo(workspace, real), real, kind, stats };
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? resolveMissing(workspace, path, written) : unresolvable(path, error);
  }
}

/** The lexical path below the workspace's real root; null when it is outside as it is written. */
function asWritten({ root, named }: Workspace, path: string): string | null {
  if (!isAbsolute(path)) {
    const joined = join(root, path);
    return isInside(root, joined) ? trimmed(joined) : null;
  }
  const plain = trimmed(normalize(path));
  if (isInside(root, plain)) return plain;
  return isInside(named, plain) ? trimmed(root + plain.slice(named.length)) : null;
}

async function resolveMissing(
  workspace: Workspace,
  path: string,
  written: string,
): Promise<ResolvedPath | PathRefusal> {
  const missing: string[] = [];
  for (let at = written; ; at = dirname(at)) {
    try {
      const real = await realpath(at);
      if (!isInside(workspace.root, real)) return leadsOut(path, real);
      const whole = join(real, ...missing);
      if (isHidden(workspace, whole)) return belongsToHouse(path);
      if (!(await stat(real)).isDirectory())
        return refuse('file_not_found', `${shown(path)}: ${relativeTo(workspace, real)} is not a directory`);
      return { ok: true, relative: relativeTo(workspace, whole), real: whole, kind: 'missing', stats: null };
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return unresolvable(path, error);
    }
    if (await isLink(at))
      return refuse('file_not_found', `${shown(path)}: a symbolic link that leads nowhere`);
    missing.unshift(basename(at));
  }
}

async function isLink(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  return stats?.isSymbolicLink() ?? false;
}

function textError(path: string): string | null {
  if (path === '') return 'the path is empty';
  if (path.includes('\0')) return 'the path contains a NUL character';
  if (/\p{Cc}/u.test(path)) return 'the path contains a control character';
  if (!path.isWellFormed()) return 'the path is not valid Unicode';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `the path is longer than ${MAX_PATH_BYTES} bytes`;
  if (path.split('/').some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES))
    return `a name in the path is longer than ${MAX_NAME_BYTES} bytes`;
  return null;
}

function leadsOut(path: string, real: string): PathRefusal {
  return refuse(
    'path_outside_workspace',
    `${shown(path)} is a link that leads out of the workspace, to ${shown(real)}`,
  );
}

function belongsToHouse(path: string): PathRefusal {
  return refuse('path_outside_workspace', `${shown(path)} belongs to the house that runs this call`);
}

/** True for what no call may see. */
export function isHidden({ hidden }: Workspace, real: string): boolean {
  return hidden.some((path) => isInside(path, real));
}

function unresolvable(path: string, error: unknown): PathRefusal {
  const code = codeOf(error);
  if (code === 'ELOOP') return refuse('invalid_path', `${shown(path)}: symbolic links lead in a circle`);
  if (code === 'ENAMETOOLONG') return refuse('invalid_path', `${shown(path)} is too long`);
  if (code === 'ENOTDIR')
    return refuse('file_not_found', `${shown(path)}: a file stands where a directory is named`);
  return refuse('file_not_found', `${shown(path)} cannot be reached (${code ?? 'unknown error'})`);
}

/** True for the directory itself and everything below it, by their spelling. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** A real path below the workspace as calls spell it. */
export function relativeTo({ root }: Workspace, real: string): string {
  return real === root ? '.' : real.slice(root.length + 1);
}

function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

function shown(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}

function refuse(code: ErrorCode, message: string): PathRefusal {
  return { ok: false, code, message };
}

/** The system's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
