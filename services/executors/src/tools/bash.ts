/** `bash`: a command line in the sandbox, with everything its process tree changed. */
import { randomUUID } from 'node:crypto';
import { constants as osConstants } from 'node:os';
import type { Assessment, OutputPart } from '@interlock/contracts';
import { z } from 'zod';
import { assessCommand, isGitWrite } from '../assess/assess-command.ts';
import { compareSnapshots } from '../effects/compare.ts';
import type { Snapshot } from '../effects/snapshot.ts';
import { WorkspaceIndex } from '../effects/workspace-index.ts';
import { ChannelCapture, shares } from '../output/capture.ts';
import { outputPart } from '../output/output-part.ts';
import { SpillFile } from '../output/spill-file.ts';
import { type Ended, runCommand } from '../sandbox/run-command.ts';
import { reject } from './rejection.ts';
import {
  defineTool,
  type ExecutionContext,
  failure,
  type Preflight,
  type PreflightContext,
  type StopReason,
  type Tool,
  type ToolResult,
} from './tool.ts';

/** What the kernel takes as one argument, less room for the terminator. */
const MAX_COMMAND_BYTES = 128 * 1024 - 16;
const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Between the request to end and the kill. */
const KILL_GRACE_MS = 2000;

const input = z.strictObject({
  command: z
    .string()
    .min(1)
    .describe('Command line for bash, run in the workspace. Standard input is empty.'),
  description: z
    .string()
    .optional()
    .describe('What it is for, in a few words, for the people who approve it.'),
  timeoutMs: z
    .int()
    .min(1)
    .optional()
    .describe(`Time limit in milliseconds. Default ${DEFAULT_TIMEOUT_MS}, at most ${MAX_TIMEOUT_MS}.`),
});
type BashInput = z.infer<typeof input>;

/** Makes the tool; each has its own index of the workspaces it has seen. */
export function createBash(): Tool {
  const index = new WorkspaceIndex();
  return defineTool<BashInput>({
    name: 'bash',
    version: '1',
    description: [
      'Runs a command line with bash in a sandbox: the workspace is writable, .git is not (except by a plain git command),',
      'the rest of the machine is read-only or absent, and there is no network.',
      'Every call starts in the workspace with a fresh shell; nothing that it starts outlives it.',
      'Output is shown from its beginning and its end when it is long; the whole is kept as an artifact.',
    ].join(' '),
    input,
    readOnly: false,
    visibleIn: ['normal', 'auto-edit', 'replay'],
    needsBaseline: false,
    budgets: { timeoutMs: MAX_TIMEOUT_MS, outputBytes: 30_000 },
    resumePolicy: 'never-rerun',
    runsPrograms: true,
    timeoutMs: ({ timeoutMs }) => timeoutMs ?? DEFAULT_TIMEOUT_MS,
    preflight,
    execute: (call, context) => execute(call, context, index),
  });
}

function preflight(call: BashInput, context: PreflightContext): Promise<Preflight<BashInput>> {
  const wrong = commandError(call.command);
  if (wrong) return Promise.resolve(reject('command_invalid', '/command', wrong));
  const { maxTimeoutMs } = context.limits;
  const clamped = call.timeoutMs !== undefined && call.timeoutMs > maxTimeoutMs;
  return Promise.resolve({
    ok: true,
    input: clamped ? { ...call, timeoutMs: maxTimeoutMs } : call,
    changes: clamped ? [{ path: '/timeoutMs', why: `the longest allowed is ${maxTimeoutMs}` }] : [],
    assessment: assess(call, context),
    baselines: [],
  });
}

function assess({ command }: BashInput, { workspace }: PreflightContext): Assessment {
  return assessCommand(command, workspace.root);
}

function commandError(command: string): string | null {
  if (command.trim() === '') return 'the command is empty';
  if (command.includes('\0')) return 'the command contains a NUL character';
  if (!command.isWellFormed()) return 'the command is not valid Unicode';
  const bytes = Buffer.byteLength(command);
  if (bytes > MAX_COMMAND_BYTES) return `the command has ${bytes} bytes; the limit is ${MAX_COMMAND_BYTES}`;
  return null;
}

async function execute(
  call: BashInput,
  context: ExecutionContext,
  index: WorkspaceIndex,
): Promise<ToolResult> {
  const { workspace, sandbox, budgets } = context;
  const before = await index.refresh(workspace);
  const output = new CommandOutput(context);
  try {
    const ended = await run(call, context, before, output);
    const effects = compareSnapshots(before, await index.refresh(workspace, before));
    const parts = [...output.parts(budgets.outputBytes), ...pipelineNote(call, ended)];
    return { ...endingOf(ended, context), output: parts, effects };
  } catch (error) {
    // The program could not be started; what it might have done is looked at all the same.
    const effects = compareSnapshots(before, await index.refresh(workspace, before));
    const reason = error instanceof Error ? error.message : String(error);
    return { ...failure(`the command could not be started (level ${sandbox.level}): ${reason}`), effects };
  } finally {
    output.close();
  }
}

async function run(
  { command }: BashInput,
  context: ExecutionContext,
  before: Snapshot,
  output: CommandOutput,
): Promise<Ended> {
  const { workspace, sandbox, signal, mayWrite } = context;
  const launch = await sandbox.launch({
    command,
    workspace,
    writable: mayWrite,
    gitWritable: isGitWrite(command),
    protectedPaths: protectedPaths(workspace.root, before),
  });
  return runCommand({
    launch,
    privateDir: sandbox.privateDir,
    signal,
    graceMs: KILL_GRACE_MS,
    onOutput: (channel, bytes) => output.write(channel, bytes),
  });
}

function protectedPaths(root: string, { repositories, files }: Snapshot): string[] {
  const steering = [...files.keys()].some((path) => path.startsWith('.interlock/')) ? ['.interlock'] : [];
  return [...repositories, ...steering].map((relative) => `${root}/${relative}`);
}

/** Standard output and standard error of one command. */
class CommandOutput {
  readonly #context: ExecutionContext;
  readonly #spills: Record<'stdout' | 'stderr', SpillFile>;
  readonly #channels: Record<'stdout' | 'stderr', ChannelCapture>;

  constructor(context: ExecutionContext) {
    const { sandbox, limits, budgets } = context;
    const id = randomUUID();
    const spill = (name: string): SpillFile =>
      new SpillFile(sandbox.privateDir, `${id}.${name}`, limits.maxArtifactBytes);
    this.#context = context;
    this.#spills = { stdout: spill('stdout'), stderr: spill('stderr') };
    this.#channels = {
      stdout: new ChannelCapture(budgets.outputBytes, this.#spills.stdout),
      stderr: new ChannelCapture(budgets.outputBytes, this.#spills.stderr),
    };
  }

  write(channel: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.#channels[channel].push(bytes);
    this.#context.live(channel, bytes);
  }

  parts(maxBytes: number): ToolResult['output'] {
    const { stdout, stderr } = this.#channels;
    const [forOut, forErr] = shares(maxBytes, stdout.totalBytes, stderr.totalBytes);
    const out = outputPart('stdout', stdout, forOut, () => this.#artifact('stdout'));
    const err = outputPart('stderr', stderr, forErr, () => this.#artifact('stderr'));
    return [out, err].filter(({ text, omittedBytes }) => text !== '' || omittedBytes > 0);
  }

  #artifact(channel: 'stdout' | 'stderr'): string {
    const bytes = this.#spills[channel].read();
    return this.#context.attach(bytes, { mediaType: 'text/plain', name: channel }).uri;
  }

  close(): void {
    this.#spills.stdout.close();
    this.#spills.stderr.close();
  }
}

function endingOf(
  { exitCode, signal, stopped }: Ended,
  context: ExecutionContext,
): Omit<ToolResult, 'output' | 'effects'> {
  const ending = { ...(exitCode === null ? {} : { exitCode }), ...(signal === null ? {} : { signal }) };
  if (stopped) return { outcome: 'failed', ...STOPPED[context.signal.reason as StopReason], ...ending };
  if (exitCode === 0) return { outcome: 'success', ...ending };
  const how = signal === null ? `exit code ${exitCode}${signalHint(exitCode)}` : `ended by ${signal}`;
  return { outcome: 'failed', code: 'exit_code', message: how, ...ending };
}

/** A pipeline ends with the code of its last stage; that of a failed one before it is not known. */
function pipelineNote({ command }: BashInput, { exitCode }: Ended): OutputPart[] {
  const unquoted = command.replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"/g, '');
  if (exitCode !== 0 || !/(^|[^|])\|([^|]|$)/.test(unquoted) || /\bpipefail\b/.test(command)) return [];
  const text = 'the exit code of a pipeline is that of its last stage; an earlier one may have failed';
  return [{ channel: 'note', text, omittedBytes: 0 }];
}

const STOPPED: Record<StopReason, Pick<ToolResult, 'code' | 'message'>> = {
  timeout: { code: 'timeout', message: 'stopped at its time limit, with everything it had started' },
  cancelled: { code: 'aborted', message: 'stopped because the run was cancelled' },
  stopping: { code: 'aborted', message: 'stopped because the executor was stopped' },
  lease_lost: { code: 'exception', message: 'stopped because the claim could not be kept alive' },
};

/** Shells tell the death of a program by 128 and the number of the signal. */
function signalHint(exitCode: number | null): string {
  if (exitCode === null || exitCode <= 128) return '';
  const name = Object.entries(osConstants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  return name === undefined ? '' : ` (128 + ${name})`;
}
