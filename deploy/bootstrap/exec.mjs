// Child processes for the bootstrap: run to the end and collect, or look along PATH.
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Runs a program to its end, without a terminal and without a shell. Never rejects: a program that is not
 * there, fails or is late is a result with a code other than 0.
 * @param {string} command
 * @param {string[]} args
 * @param {{cwd?: string, env?: Record<string, string | undefined>, timeoutMs?: number}} [options]
 * @returns {Promise<{code: number, stdout: string, output: string}>} output = both streams, as they came
 */
export function run(command, args, options = {}) {
  const { cwd, env = process.env, timeoutMs = 300_000 } = options;
  return new Promise((resolve) => {
    let stdout = '';
    let output = '';
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => {
      output += `\n(no end after ${timeoutMs / 1000} s)`;
      child.kill('SIGKILL');
    }, timeoutMs);
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: 127, stdout, output: error.message });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, stdout, output });
    });
  });
}

/** As `run`, but anything else than 0 is an error that shows the end of what the program said. */
export async function mustRun(command, args, options) {
  const result = await run(command, args, options);
  if (result.code === 0) return result;
  const said = result.output.trim().split('\n').slice(-12).join('\n    ');
  throw new Error(`\`${[command, ...args].join(' ')}\` ended with ${result.code}:\n    ${said}`);
}

/** True for a file that may be executed. */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The first executable of that name on PATH, or undefined. */
export function onPath(name, env = process.env) {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/**
 * True when the version (`v2.15.1`, `24.21.0`) is at least that one.
 * @param {string} version
 * @param {readonly number[]} floor major and minor
 */
export function atLeast(version, [major = 0, minor = 0]) {
  const [gotMajor = 0, gotMinor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return gotMajor > major || (gotMajor === major && gotMinor >= minor);
}
