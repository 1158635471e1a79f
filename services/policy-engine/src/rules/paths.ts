/** Paths against globs. POSIX paths, absolute, as the executor's host resolved them. Pure. */
import picomatch from 'picomatch';

export type PathTest = (real: string, workspace: string) => boolean;

const OPTIONS = { dot: true, nonegate: true, posixSlashes: false } as const;

/** A glob as a test; a relative one starts at the workspace. Throws for a glob that cannot be compiled. */
export function compileGlob(glob: string): PathTest {
  if (glob.startsWith('/')) {
    const matches = picomatch(glob, OPTIONS);
    return (real) => matches(real);
  }
  const matches = picomatch(glob.replace(/^\.\//, ''), OPTIONS);
  // `**/name` is meant anywhere, not only below the workspace.
  const anywhere = glob.startsWith('**/') ? picomatch(`/${glob}`, OPTIONS) : null;
  return (real, workspace) => {
    const relative = relativeTo(real, workspace);
    return (relative !== null && matches(relative)) || (anywhere?.(real) ?? false);
  };
}

/** The path below the workspace; null when it is not below it. */
function relativeTo(real: string, workspace: string): string | null {
  const root = workspace.endsWith('/') ? workspace : `${workspace}/`;
  return real.startsWith(root) ? real.slice(root.length) : null;
}

/** True for the workspace, its `.git`, and every folder that holds the workspace. */
export function holdsWorkspace(real: string, workspace: string): boolean {
  const path = real.length > 1 ? real.replace(/\/+$/, '') : real;
  const root = workspace.replace(/\/+$/, '');
  return path === '/' || path === root || path === `${root}/.git` || root.startsWith(`${path}/`);
}

/** Text with `*` for any characters. */
export function compileWildcard(pattern: string): (text: string) => boolean {
  if (!pattern.includes('*')) return (value) => value === pattern;
  const source = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const regex = new RegExp(`^${source.join('[^]*')}$`);
  return (value) => regex.test(value);
}

/** `*.example.com` covers every host below it, and no other. Ports are left out; case does not matter. */
export function compileHost(pattern: string): (host: string) => boolean {
  const wanted = pattern.toLowerCase();
  const bare = (host: string): string => host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  if (wanted === '*') return () => true;
  if (wanted.startsWith('*.'))
    return (host) => bare(host).endsWith(wanted.slice(1)) && bare(host).length >= wanted.length;
  return (host) => bare(host) === wanted;
}
