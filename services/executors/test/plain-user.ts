/** A program of the tests: run by a user without rights, it runs a command in its sandbox and prints what became of it. */
import { runCommand } from '../src/sandbox/run-command.ts';
import { testSandbox } from './bwrap.ts';

/** Arguments for Node that run the program on a workspace. */
export function plainUserProgram(root: string, command: string): string[] {
  const start = 'import(process.argv[1]).then(({ main }) => main(...process.argv.slice(2)))';
  return ['-e', start, import.meta.filename, root, command];
}

/** @public The program itself. */
export async function main(root: string, command: string): Promise<void> {
  const sandbox = await testSandbox();
  const output: Uint8Array[] = [];
  const workspace = { root, named: root, hidden: [] };
  const asked = { command, workspace, writable: true, gitWritable: false, protectedPaths: [] };
  const ended = await runCommand({
    launch: await sandbox.launch(asked),
    privateDir: sandbox.privateDir,
    signal: AbortSignal.timeout(20_000),
    graceMs: 500,
    onOutput: (_channel, bytes) => output.push(Uint8Array.from(bytes)),
  });
  await sandbox.dispose();
  const { level, shortfall } = sandbox;
  const result = { level, shortfall, ...ended, output: Buffer.concat(output).toString('utf8') };
  process.stdout.write(JSON.stringify(result));
}
