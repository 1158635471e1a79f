// `npm run check [-- --fix]`: everything a machine can say of the code without running it, one line each. All steps
// run even when one fails, so that one call shows all there is to do.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const bin = (name: string): string => join(ROOT, 'node_modules', '.bin', name);
const script = (path: string): string[] => [process.execPath, join(ROOT, path)];
const fix = process.argv.includes('--fix');

const STEPS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['format and lint', [bin('biome'), 'check', '--error-on-warnings', ...(fix ? ['--write'] : []), '.']],
  ['types', [bin('tsc'), '--project', '.']],
  ['boundaries', script('deploy/scripts/boundaries.ts')],
  ['dead code', [bin('knip'), '--no-progress']],
  ['contracts', script('contracts/scripts/check.ts')],
];

/** Runs a step with its output held back; undefined output means that it passed. */
function run([program = '', ...args]: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    const add = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? undefined : output.trimEnd()));
  });
}

for (const [name, command] of STEPS) {
  const [program = '', file = ''] = command;
  if (program === process.execPath && !existsSync(file)) continue;
  const started = performance.now();
  const failure = await run(command);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${failure === undefined ? 'ok  ' : 'FAIL'}  ${name.padEnd(16)} ${seconds.padStart(5)} s\n`,
  );
  if (failure === undefined) continue;
  process.stdout.write(`${failure.replace(/^/gm, '      ')}\n`);
  process.exitCode = 1;
}
