/**
 * Starting a program, reading what it writes, and ending it with everything it started.
 *
 * R1. A call ends when its program does: one that stays behind holding the pipe is ended, not waited for.
 * R2. Stopped: SIGTERM to the whole tree, a grace period, then SIGKILL to the whole tree.
 * R3. Nothing outlives the call.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOutputPipes, type OutputPipe } from './output-pipes.ts';
import { descendantsOf, processesMarked, signalProcess } from './process-tree.ts';
import type { Launch } from './sandbox.ts';

export interface RunOptions {
  readonly launch: Launch;
  readonly privateDir: string;
  readonly signal: AbortSignal;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly onOutput: (channel: 'stdout' | 'stderr', bytes: Uint8Array) => void;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when it was stopped by `signal`. */
  readonly stopped: boolean;
}

/** How long what is left in the pipes is read after the program has ended. */
const DRAIN_MS = 500;

/** Runs a program to its end. @throws what `spawn` fails with: there is no such program, or too many arguments */
export async function runCommand(options: RunOptions): Promise<Ended> {
  const pipes = await createOutputPipes(options.privateDir, randomUUID());
  const [stdout, stderr] = pipes;
  const closed = Promise.all([
    follow(stdout, (bytes) => options.onOutput('stdout', bytes)),
    follow(stderr, (bytes) => options.onOutput('stderr', bytes)),
  ]);
  try {
    const child = start(options.launch, stdout, stderr);
    const ended = await watch(child, options);
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return ended;
  } finally {
    for (const pipe of pipes) {
      pipe.release();
      pipe.stream.destroy();
    }
  }
}

function follow({ stream }: OutputPipe, onBytes: (bytes: Uint8Array) => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on('data', onBytes);
    stream.on('error', () => resolve());
    stream.on('close', () => resolve());
  });
}

function start(launch: Launch, stdout: OutputPipe, stderr: OutputPipe): ChildProcess {
  const { file, args, env, cwd, seccompPath, idMap } = launch;
  const filter = seccompPath === null ? null : openSync(seccompPath, 'r');
  try {
    const more = idMap ? (['pipe', 'pipe'] as const) : [];
    const child = spawn(file, args, {
      cwd,
      env: { ...env },
      stdio: ['ignore', stdout.writeEnd, stderr.writeEnd, filter ?? 'ignore', ...more],
      // A group of its own: a signal to the executor's group, as from a terminal, is not the command's.
      detached: true,
    });
    if (idMap) mapIds(child, idMap);
    return child;
  } finally {
    if (filter !== null) closeSync(filter);
    stdout.release();
    stderr.release();
  }
}

/** Bubblewrap names its child and waits; only root outside the namespace may map more than one id for it. */
function mapIds(child: ChildProcess, { uid, gid }: { readonly uid: string; readonly gid: string }): void {
  // Node's type knows only the first five.
  const stdio: readonly unknown[] = child.stdio;
  const info = stdio[4] as Readable | null | undefined;
  const block = stdio[5] as Writable | null | undefined;
  // There are none when it could not be started.
  if (!info || !block) return;
  let text = '';
  // It may end before it waits, with its reason on standard error.
  block.on('error', () => child.kill('SIGKILL'));
  info.on('error', () => child.kill('SIGKILL'));
  const read = (chunk: Buffer): void => {
    text += chunk.toString('utf8');
    const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1];
    if (pid === undefined) return;
    info.off('data', read);
    info.resume();
    try {
      writeFileSync(`/proc/${pid}/uid_map`, uid);
      writeFileSync(`/proc/${pid}/gid_map`, gid);
      block.end('1');
    } catch {
      // Without its ids it must not go on; it says so by its end.
      child.kill('SIGKILL');
    }
  };
  info.on('data', read);
}

function watch(child: ChildProcess, { launch, signal, graceMs }: RunOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let killTimer: NodeJS.Timeout | undefined;
    let stopped = false;
    const stop = (): void => {
      stopped = true;
      signalTree(child, launch.tree, 'SIGTERM');
      killTimer = setTimeout(() => signalTree(child, launch.tree, 'SIGKILL'), graceMs);
    };
    const settle = (act: () => void): void => {
      clearTimeout(killTimer);
      signal.removeEventListener('abort', stop);
      act();
    };
    child.once('error', (error) => settle(() => reject(error)));
    child.once('exit', (exitCode, endSignal) => {
      settle(() => {
        // Nothing of the group may stay behind; a namespace is gone with its first process.
        if (launch.tree === 'group') {
          signalTree(child, 'group', 'SIGKILL');
          for (const pid of processesMarked(launch.env)) signalProcess(pid, 'SIGKILL');
        }
        resolve({ exitCode, signal: endSignal, stopped });
      });
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

function signalTree(child: ChildProcess, tree: Launch['tree'], signal: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (tree === 'group') {
    const descendants = descendantsOf(pid);
    signalProcess(-pid, signal);
    for (const one of descendants) signalProcess(one, signal);
    return;
  }
  // Bubblewrap ends its namespace when it ends, so only a kill is for it; a request to end is for those inside.
  if (signal === 'SIGKILL') signalProcess(pid, signal);
  else for (const inside of descendantsOf(pid).slice(1)) signalProcess(inside, signal);
}
