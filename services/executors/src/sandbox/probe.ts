/**
 * Which sandbox this host has: tried, not guessed. `A` full, `B` without a fresh /proc, `D` none.
 * Level C (Landlock) needs a helper that is not there yet, so a host that could have it is a D.
 */

import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Workspace } from '../workspace/paths.ts';
import { type BubblewrapOptions, createBubblewrap } from './bubblewrap.ts';
import { createPlain } from './plain.ts';
import { runCommand } from './run-command.ts';
import type { Sandbox, SandboxLimits } from './sandbox.ts';
import { seccompProgram } from './seccomp.ts';
import { visiblePaths } from './visible-paths.ts';

export interface SandboxConfig {
  /** Path of bubblewrap; default: the one on `PATH`. */
  readonly bwrap: string | undefined;
  /** The executor's own `PATH`. */
  readonly path: string;
  /** More paths that commands may read. */
  readonly extraPaths: readonly string[];
  readonly plainUid: number;
  readonly limits: SandboxLimits;
}

const PROBE_LIMIT_MS = 10_000;
const PASSWD = [
  'root:x:0:0:root:/root:/bin/sh',
  'dev:x:1000:1000:dev:/home/dev:/bin/bash',
  'nobody:x:65534:65534:nobody:/nonexistent:/bin/sh',
];
const GROUP = ['root:x:0:', 'dev:x:1000:', 'nogroup:x:65534:'];

/** A sandbox of the best level that works here. `dispose` removes its files. */
export async function probeSandbox(config: SandboxConfig): Promise<Sandbox & { dispose(): Promise<void> }> {
  const privateDir = await mkdtemp(join(tmpdir(), 'interlock-executor-'));
  const dispose = (): Promise<void> => rm(privateDir, { recursive: true, force: true });
  const sandbox = await best(config, privateDir);
  return { ...sandbox, dispose };
}

async function best(config: SandboxConfig, privateDir: string): Promise<Sandbox> {
  const programs = {
    bash: findProgram('bash', SYSTEM_PATH) ?? '/bin/bash',
    setpriv: findProgram('setpriv', SYSTEM_PATH),
    prlimit: findProgram('prlimit', SYSTEM_PATH),
  };
  const bwrap = config.bwrap ?? findProgram('bwrap', config.path);
  const visible = await visiblePaths({
    path: config.path,
    execPath: process.execPath,
    extra: config.extraPaths,
  });
  const isRoot = process.getuid?.() === 0;
  const none = (shortfall: string): Sandbox =>
    createPlain({ shortfall, bash: programs.bash, path: visible.path, privateDir });
  if (process.platform !== 'linux') return none('the sandbox needs Linux');
  if (!bwrap) return none('bubblewrap is not installed (PATH, INTERLOCK_BWRAP_BIN)');
  if (isRoot && !programs.setpriv)
    return none('the executor runs as root and setpriv (util-linux) is not installed');
  const files = await writeFiles(privateDir);
  const { limits, plainUid } = config;
  const options = { bwrap, visible, limits, privateDir, files, programs, isRoot, plainUid };
  const full = createBubblewrap({ ...options, level: 'A', shortfall: null });
  const why = await failureOf(full);
  if (why === null) return full;
  const partial = createBubblewrap({ ...options, level: 'B', shortfall: `no /proc of its own: ${why}` });
  return (await failureOf(partial)) === null ? partial : none(`bubblewrap does not work here: ${why}`);
}

const SYSTEM_PATH = '/usr/bin:/bin';

/** The first executable of a name on a search path. */
export function findProgram(name: string, path: string): string | null {
  for (const directory of path.split(delimiter)) {
    const candidate = join(directory, name);
    if (directory.startsWith('/') && isExecutable(candidate)) return candidate;
  }
  return null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function writeFiles(directory: string): Promise<BubblewrapOptions['files']> {
  const passwd = join(directory, 'passwd');
  const group = join(directory, 'group');
  await writeFile(passwd, `${PASSWD.join('\n')}\n`, { mode: 0o644 });
  await writeFile(group, `${GROUP.join('\n')}\n`, { mode: 0o644 });
  const program = seccompProgram(process.arch);
  if (!program) return { passwd, group, seccomp: null };
  const seccomp = join(directory, 'seccomp.bpf');
  await writeFile(seccomp, program, { mode: 0o600 });
  return { passwd, group, seccomp };
}

/** Runs a command that needs all that the sandbox promises; why it failed, or null. */
async function failureOf(sandbox: Sandbox): Promise<string | null> {
  const root = await mkdtemp(join(sandbox.privateDir, 'probe-'));
  const workspace: Workspace = { root, named: root, hidden: [] };
  const said: Uint8Array[] = [];
  try {
    const launch = await sandbox.launch({
      command: 'test -r /proc/self/status && test "$(id -u)" = 1000 && : > probe',
      workspace,
      writable: true,
      gitWritable: false,
      protectedPaths: [],
    });
    const ended = await runCommand({
      launch,
      privateDir: sandbox.privateDir,
      signal: AbortSignal.timeout(PROBE_LIMIT_MS),
      graceMs: 100,
      onOutput: (_channel, bytes) => said.push(Uint8Array.from(bytes)),
    });
    if (ended.exitCode === 0) return null;
    const text = Buffer.concat(said).toString('utf8').trim().split('\n')[0] ?? '';
    return text || `exit code ${ended.exitCode ?? ended.signal}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
