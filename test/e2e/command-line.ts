/** The real command line as a process of its own, away from the developer's settings and without a terminal. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScriptTurn } from '../harness/session.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
const MAIN = join(ROOT, 'clients', 'cli', 'src', 'main.ts');

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON Lines. */
  readonly lines: readonly JsonLine[];
}
export type JsonLine = Readonly<Record<string, unknown>>;

export interface Running {
  readonly child: ChildProcess;
  readonly done: Promise<Finished>;
  /** Resolves with the first line, seen or to come, that fits. Rejects when the command ends without one. */
  line(fits: (line: JsonLine) => boolean): Promise<JsonLine>;
}

/** A place of its own: a state folder, a workspace, scripts. */
export interface Place {
  readonly dir: string;
  readonly stateDir: string;
  readonly workspace: string;
  /** Starts a command; `--state-dir` is given, unless the arguments say otherwise. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Running;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Finished>;
  /** Writes a script; returns what `--model` takes. */
  script(turns: readonly ScriptTurn[]): Promise<string>;
  remove(): Promise<void>;
}

export async function createPlace(files: Readonly<Record<string, string>> = {}): Promise<Place> {
  const dir = await mkdtemp(join(tmpdir(), 'interlock-cli-'));
  const workspace = join(dir, 'workspace');
  const stateDir = join(dir, 'state');
  await mkdir(workspace);
  for (const [name, text] of Object.entries(files)) await writeFile(join(workspace, name), text);
  let scripts = 0;
  const start: Place['start'] = (args, env = {}) =>
    follow(
      spawn(process.execPath, [MAIN, ...args], {
        cwd: workspace,
        env: { ...cleanEnv(dir), INTERLOCK_STATE_DIR: stateDir, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  return {
    dir,
    stateDir,
    workspace,
    start,
    run: (args, env) => start(args, env).done,
    async script(turns) {
      scripts += 1;
      const file = join(dir, `script-${scripts}.json`);
      await writeFile(file, JSON.stringify({ turns }));
      return `scripted:${file}`;
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** What the developer's shell says must not change a test. */
export function cleanEnv(home: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined &&
      !/^(INTERLOCK_(?!BWRAP_BIN)|ANTHROPIC_|npm_|INIT_CWD|NO_COLOR|FORCE_COLOR|NODE_)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), XDG_CONFIG_HOME: join(home, 'config') };
}

export function follow(child: ChildProcess): Running {
  let stdout = '';
  let stderr = '';
  const seen: JsonLine[] = [];
  const waiting = new Set<(line: JsonLine) => void>();
  let partial = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const whole = (partial + text).split('\n');
    partial = whole.pop() ?? '';
    for (const line of whole.flatMap(parse)) {
      seen.push(line);
      for (const take of waiting) take(line);
    }
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const done = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr, lines: seen }));
  });
  const line: Running['line'] = (fits) =>
    new Promise((resolve, reject) => {
      const found = seen.find(fits);
      if (found) {
        resolve(found);
        return;
      }
      const take = (one: JsonLine): void => {
        if (!fits(one)) return;
        waiting.delete(take);
        resolve(one);
      };
      waiting.add(take);
      const ended = ({ code }: Finished): void =>
        reject(new Error(`it ended with ${code} before the line came:\n${stdout}\n${stderr}`));
      done.then(ended, reject);
    });
  return { child, done, line };
}

function parse(text: string): JsonLine[] {
  if (!text.startsWith('{')) return [];
  try {
    return [JSON.parse(text)];
  } catch {
    // Not a line of JSON: a test that wants only such lines looks at the text.
    return [];
  }
}
