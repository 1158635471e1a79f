/**
 * The sandbox of bubblewrap: levels A (its own /proc) and B (the container's /proc).
 *
 * G1. Bubblewrap itself starts with the command's environment: as process 1 it would show its own to the command.
 * G2. Shell start-up files do not run: `--noprofile --norc`, and standard input is not a socket.
 * G3. `.git` is a mount of its own and read-only: it can be neither written nor moved away.
 * G4. What runs is a plain user, also when the executor is root; else process limits and file modes mean nothing.
 * G5. The machine is not there: no network, no home, no other processes, no sockets, nothing but the programs.
 */
import { lstat, stat } from 'node:fs/promises';
import { isInside } from '../workspace/paths.ts';
import { commandEnvironment, SANDBOX_HOME } from './environment.ts';
import type { Launch, Sandbox, SandboxedCommand, SandboxLimits } from './sandbox.ts';
import { isSystem, type Mount, type VisiblePaths } from './visible-paths.ts';

export interface BubblewrapOptions {
  readonly bwrap: string;
  readonly level: 'A' | 'B';
  readonly shortfall: string | null;
  readonly visible: VisiblePaths;
  readonly limits: SandboxLimits;
  readonly privateDir: string;
  /** Files made for the sandbox, in `privateDir`. */
  readonly files: { readonly passwd: string; readonly group: string; readonly seccomp: string | null };
  /** Programs of the machine, as the sandbox sees them. */
  readonly programs: {
    readonly bash: string;
    readonly setpriv: string | null;
    readonly prlimit: string | null;
  };
  /** True when the executor runs as root. */
  readonly isRoot: boolean;
  /** Whom commands run as when both the executor and the workspace belong to root. */
  readonly plainUid: number;
}

/** The user that commands see themselves as. */
const INNER_ID = 1000;
const MAKE_PLAIN = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'];
/** Let a plain user work on files of root: in the namespace, and so on nothing but the workspace. */
const REACH_ROOTS_FILES = ['dac_override', 'fowner'];

export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  const envNames = Object.keys(commandEnvironment({ path: [], home: SANDBOX_HOME, workspace: '/' })).sort();
  return {
    level: options.level,
    shortfall: options.shortfall,
    envNames,
    privateDir: options.privateDir,
    launch: (command) => launch(options, command),
  };
}

async function launch(options: BubblewrapOptions, command: SandboxedCommand): Promise<Launch> {
  const { workspace } = command;
  const protection = await Promise.all(command.protectedPaths.map((path) => protect(path, command)));
  const user = options.isRoot ? await plainUser(options, workspace.root) : null;
  const path = options.visible.path.filter((directory) => !isInside(workspace.root, directory));
  return {
    file: options.bwrap,
    args: [
      ...namespaces(options, user !== null),
      ...(options.files.seccomp ? ['--seccomp', '3'] : []),
      ...(user ? asRoot(user) : ['--uid', String(INNER_ID), '--gid', String(INNER_ID)]),
      ...fileSystem(options, command),
      ...protection.flat(),
      ...['--remount-ro', '/', '--chdir', workspace.root],
      '--',
      ...(user ? becomePlain(options, user) : []),
      ...shell(options, command.command),
    ],
    env: commandEnvironment({ path, home: SANDBOX_HOME, workspace: workspace.root }),
    cwd: '/',
    seccompPath: options.files.seccomp,
    idMap: user && {
      uid: `0 0 1\n${INNER_ID} ${user.uid} 1\n`,
      gid: `0 0 1\n${INNER_ID} ${user.gid} 1\n`,
    },
    tree: 'namespace',
  };
}

interface PlainUser {
  readonly uid: number;
  readonly gid: number;
  readonly capabilities: readonly string[];
}

async function plainUser({ plainUid }: BubblewrapOptions, root: string): Promise<PlainUser> {
  const { uid, gid } = await stat(root);
  if (uid !== 0) return { uid, gid: gid === 0 ? plainUid : gid, capabilities: [] };
  return { uid: plainUid, gid: plainUid, capabilities: REACH_ROOTS_FILES };
}

function namespaces({ level }: BubblewrapOptions, mapped: boolean): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-net',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    '--hostname',
    'sandbox',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    // The filter refuses further namespaces where bubblewrap cannot.
    ...(mapped ? [] : ['--disable-userns']),
    ...(level === 'A' ? ['--proc', '/proc'] : ['--ro-bind', '/proc', '/proc']),
  ];
}

/** Bubblewrap sets up as root of its namespace; the command runs as somebody else. */
function asRoot({ capabilities }: PlainUser): string[] {
  const added = [...MAKE_PLAIN, ...capabilities.map((name) => `CAP_${name.toUpperCase()}`)];
  return ['--info-fd', '4', '--userns-block-fd', '5', ...added.flatMap((name) => ['--cap-add', name])];
}

function becomePlain({ programs }: BubblewrapOptions, { capabilities }: PlainUser): string[] {
  const kept = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  const id = String(INNER_ID);
  return [
    programs.setpriv ?? 'setpriv',
    ...['--reuid', id, '--regid', id, '--clear-groups'],
    ...['--inh-caps', kept, '--ambient-caps', kept, '--bounding-set', kept],
    '--',
  ];
}

function fileSystem(options: BubblewrapOptions, command: SandboxedCommand): string[] {
  const { visible, files, limits } = options;
  const { workspace, writable } = command;
  const { root } = workspace;
  const scratch = (path: string): string[] => [
    ...['--perms', '1777', '--size', String(limits.scratchBytes)],
    ...['--tmpfs', path],
  ];
  const mounts = mountsBeside(visible.mounts, root);
  return [
    ...directoriesAbove(['/var/tmp', '/etc/passwd']),
    ...[...scratch('/tmp'), ...scratch('/var/tmp')],
    ...['--perms', '0755', '--tmpfs', '/run', '--perms', '0755', '--tmpfs', '/home'],
    ...scratch(SANDBOX_HOME),
    ...['--dev', '/dev', ...scratch('/dev/shm')],
    ...directoriesAbove([...mounts.map(({ target }) => target), root]),
    ...mounts.flatMap(({ flag, source, target }) => [flag, source, target]),
    ...['--ro-bind', files.passwd, '/etc/passwd', '--ro-bind', files.group, '/etc/group'],
    ...[writable ? '--bind' : '--ro-bind', root, root],
    ...workspace.hidden.filter((path) => isInside(root, path)).flatMap(hide),
  ];
}

/** Bubblewrap makes what is missing above a mount for its own user only. */
function directoriesAbove(targets: readonly string[]): string[] {
  const above = targets.flatMap((target) =>
    target
      .split('/')
      .slice(1, -1)
      .map((_name, depth, names) => `/${names.slice(0, depth + 1).join('/')}`),
  );
  const unique = [...new Set(above)].filter((path) => !isSystem(path)).sort();
  return unique.flatMap((path) => ['--perms', '0755', '--dir', path]);
}

function hide(path: string): string[] {
  return ['--perms', '0700', '--tmpfs', path];
}

/** A directory of programs above the workspace would show what is beside it. */
function mountsBeside(mounts: readonly Mount[], root: string): Mount[] {
  return mounts.filter(({ target }) => isSystem(target) || !isInside(target, root));
}

/** An approved write of version control may change the repository, but not what git runs. */
async function protect(path: string, { workspace, gitWritable }: SandboxedCommand): Promise<string[]> {
  if (!gitWritable || path !== `${workspace.root}/.git`) return readOnly(path);
  if (!(await isPlain(path))) return [];
  const steering = await Promise.all(['hooks', 'config'].map((name) => readOnly(`${path}/${name}`)));
  return ['--bind', path, path, ...steering.flat()];
}

async function readOnly(path: string): Promise<string[]> {
  return (await isPlain(path)) ? ['--ro-bind', path, path] : [];
}

/** Bubblewrap follows a link outside the sandbox: one in the workspace would bring in whatever it leads to. */
async function isPlain(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  return stats !== null && (stats.isDirectory() || stats.isFile());
}

function shell({ programs, limits }: BubblewrapOptions, command: string): string[] {
  const bash = [programs.bash, '--noprofile', '--norc', '-c'];
  const { processes, fileBytes } = limits;
  if (programs.prlimit)
    return [
      programs.prlimit,
      `--nproc=${processes}`,
      `--fsize=${fileBytes}`,
      '--core=0',
      '--',
      ...bash,
      command,
    ];
  const limit = `ulimit -c 0 -u ${processes} -f ${Math.ceil(fileBytes / 1024)} && exec "$0" --noprofile --norc -c "$1"`;
  return [...bash, limit, programs.bash, command];
}
