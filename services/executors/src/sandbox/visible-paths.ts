/** What of the machine a command may see besides the workspace: programs and what they need, read-only. */
import { lstat, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isInside } from '../workspace/paths.ts';

/** Directories of the base system; on most machines all but the first are links into it. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Files of `/etc` that programs need, and that hold nothing of the machine's own. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'fonts',
  'java-17-openjdk',
  'java-21-openjdk',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'nsswitch.conf',
  'pki',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
];

/** One thing of the machine within the sandbox. */
export interface Mount {
  readonly flag: '--ro-bind' | '--ro-bind-try' | '--symlink';
  readonly source: string;
  readonly target: string;
}

export interface VisiblePaths {
  readonly mounts: readonly Mount[];
  /** Directories of programs, in the order of the executor's own `PATH`. */
  readonly path: readonly string[];
}

export interface VisibleOptions {
  /** The executor's own `PATH`. */
  readonly path: string;
  /** The Node that runs the executor; its directory comes first. */
  readonly execPath: string;
  /** More paths, chosen by an operator. */
  readonly extra: readonly string[];
}

export async function visiblePaths(options: VisibleOptions): Promise<VisiblePaths> {
  const system = (await Promise.all(SYSTEM.map(systemMount))).flat();
  const etc = ETC.map(
    (name): Mount => ({ flag: '--ro-bind-try', source: `/etc/${name}`, target: `/etc/${name}` }),
  );
  const wanted = [dirname(options.execPath), ...options.path.split(':')].filter((path) =>
    path.startsWith('/'),
  );
  const path = [...new Set(wanted.map((one) => one.replace(/(?<=.)\/+$/, '')))].filter((one) => one !== '/');
  const programs = (await Promise.all([...path.map(programMounts), ...options.extra.map(bindMount)])).flat();
  return { mounts: [...system, ...etc, ...programs], path };
}

async function systemMount(path: string): Promise<Mount[]> {
  const stats = await lstat(path).catch(() => null);
  if (!stats) return [];
  if (stats.isSymbolicLink()) return [{ flag: '--symlink', source: await readlink(path), target: path }];
  return [{ flag: '--ro-bind', source: path, target: path }];
}

/** A directory of programs, and beside a `bin` the modules that its scripts lead to. */
async function programMounts(path: string): Promise<Mount[]> {
  if (isSystem(path)) return [];
  const modules = path.endsWith('/bin') ? await bindMount(join(dirname(path), 'lib', 'node_modules')) : [];
  return [...(await bindMount(path)), ...modules];
}

async function bindMount(path: string): Promise<Mount[]> {
  if (isSystem(path)) return [];
  const real = await realpath(path).catch(() => null);
  return real === null ? [] : [{ flag: '--ro-bind', source: real, target: path }];
}

/** True for what belongs to the base system, which every sandbox shows. */
export function isSystem(path: string): boolean {
  return SYSTEM.some((root) => isInside(root, path));
}
