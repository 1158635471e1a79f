/** The project and the script that ship with the house, as `npm start` plays them. */
import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestHouse } from '../harness/house.ts';
import type { ScriptTurn } from '../harness/session.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples');

export const SAMPLE_TASK = "Find out why this project's tests fail, and fix it.";

export async function sampleTurns(): Promise<readonly ScriptTurn[]> {
  return JSON.parse(await readFile(join(EXAMPLES, 'sample-sum.script.json'), 'utf8')).turns;
}

/** A copy of the project that is removed with the house. */
export async function copyOfSample(house: TestHouse): Promise<string> {
  const workspace = await house.workspace();
  await cp(join(EXAMPLES, 'sample-sum'), workspace, { recursive: true });
  return workspace;
}

/** Runs a project's own tests, outside the house. Rejects when they fail. */
export async function runTests(cwd: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _inherited, NODE_OPTIONS: _options, ...env } = process.env;
  return (await promisify(execFile)(process.execPath, ['--test'], { cwd, env })).stdout;
}
