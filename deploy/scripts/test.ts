// `npm test [-- vitest's arguments]`: all tests, then the tests that did not run, by name, then `N passed, N failed`
// alone on the last line. In CI a test that did not run is a failure: nothing is skipped in silence. Tests over corpora that
// lie beside a checkout say `(of ../shared)` in their name and are only listed where there is none.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const REPORT = join(ROOT, 'node_modules', '.cache', 'test-report.json');

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly notRun: readonly string[];
}

function summarise({ testResults }: Report): Summary {
  const tests = testResults.flatMap((file) =>
    file.assertionResults.map((one) => ({ ...one, name: `${relative(ROOT, file.name)} > ${one.fullName}` })),
  );
  // A file that could not be loaded, or whose set-up failed, has a failure but no test that shows it.
  const broken = testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  );
  return {
    passed: tests.filter((one) => one.status === 'passed').length,
    failed: tests.filter((one) => one.status === 'failed').length + broken.length,
    notRun: tests.filter((one) => one.status !== 'passed' && one.status !== 'failed').map((one) => one.name),
  };
}

async function runVitest(args: readonly string[]): Promise<number> {
  rmSync(REPORT, { force: true });
  const bin = join(ROOT, 'node_modules', '.bin', 'vitest');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`];
  const child = spawn(bin, ['run', ...reporters, ...args], { cwd: ROOT, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

function readReport(): Report {
  try {
    return JSON.parse(readFileSync(REPORT, 'utf8'));
  } catch {
    return { testResults: [] };
  }
}

const code = await runVitest(process.argv.slice(2));
const { passed, notRun, ...counted } = summarise(readReport());
// An error outside any test (a promise nobody waited for) fails the run although every test passed.
const failed = counted.failed === 0 && code !== 0 ? 1 : counted.failed;
const list =
  notRun.length > 0 ? `\nnot run (${notRun.length}):\n${notRun.map((name) => `  ${name}\n`).join('')}` : '';
process.stdout.write(`${list}\n${passed} passed, ${failed} failed\n`);
// Corpora are material beside a checkout, not a piece of it: their tests are named above and held against nobody.
const missing = notRun.filter((name) => !name.includes('(of ../shared)'));
const silent = process.env.CI === 'true' && missing.length > 0;
process.exitCode = failed > 0 || silent ? 1 : 0;
