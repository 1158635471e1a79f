import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { APPROVE_MODES, type ApproveMode } from '../approvals.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { DEFAULT_MODEL } from '../model-choice.ts';
import { type RunFlags, run } from './run.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const SAMPLE = join(ROOT, 'examples', 'sample-sum');
const SCRIPT = join(ROOT, 'examples', 'sample-sum.script.json');
const SAMPLE_TASK = "Find out why this project's tests fail, and fix it.";

/** `npm start`: the main job on the sample project, or on one's own with a task and `--workspace`. */
export function registerDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('Run the main job on a copy of the sample project, or a task of your own with --workspace.')
    .argument('[task]', 'what to do', SAMPLE_TASK)
    .option('--workspace <dir>', 'your own project instead of the sample')
    .option('--policy <file>', 'rules of your own (YAML)')
    .addOption(new Option('--approve <how>', 'answer asks: all, none, or ask').choices(APPROVE_MODES))
    .action(async (task: string, flags: RunFlags) => {
      const act = flags.workspace === undefined ? onSample : onOwnProject;
      context.exit(await act(context, task, flags));
    });
}

async function onOwnProject(context: CommandContext, task: string, flags: RunFlags): Promise<ExitCode> {
  const { mode } = context.settings;
  return await run(
    withSettings(context, mode.source === 'default' ? { mode: 'auto-edit' } : {}),
    task,
    flags,
  );
}

async function onSample(context: CommandContext, task: string, flags: RunFlags): Promise<ExitCode> {
  const { terminal, settings, json } = context;
  if (!existsSync(SAMPLE)) throw new CliError('workspace_invalid', `The sample project is not at ${SAMPLE}.`);
  const workspace = mkdtempSync(join(tmpdir(), 'interlock-sample-'));
  cpSync(SAMPLE, workspace, { recursive: true });
  const model = settings.model.value ?? (process.env.ANTHROPIC_API_KEY ? undefined : `scripted:${SCRIPT}`);
  const isScripted = model?.startsWith('scripted:') ?? false;
  terminal.note('');
  terminal.note(`Sample project (a copy): ${workspace}`);
  terminal.note(
    isScripted
      ? 'A scripted model plays the proposals, no API key is used; everything after them is real.'
      : `The model is ${model ?? DEFAULT_MODEL}.`,
  );
  terminal.note(`Task: ${task}`);
  terminal.note('');
  const approve = flags.approve ?? (terminal.interactive ? 'ask' : unattended(isScripted));
  const own = withSettings(
    context,
    model === undefined ? { mode: 'auto-edit' } : { model, mode: 'auto-edit' },
  );
  const code = await run(own, task, { ...flags, workspace, approve });
  const passes = testsPass(workspace);
  if (!json) {
    terminal.out(passes ? `The tests of ${workspace} pass now.` : `The tests of ${workspace} still fail.`);
    terminal.out('On a project of your own: npm start -- "<task>" --workspace DIR');
  }
  return code === EXIT.done && !passes ? EXIT.error : code;
}

/** Nobody is waited for: what our own script asks for on a host without a sandbox may run, what a model asks for may not. */
function unattended(isScripted: boolean): ApproveMode {
  return isScripted ? 'all' : 'none';
}

function withSettings(
  context: CommandContext,
  given: Partial<Record<'model' | 'mode', string>>,
): CommandContext {
  const changed = Object.entries(given).map(([name, value]) => [
    name,
    { ...context.settings[name as 'model' | 'mode'], value, source: 'flag' },
  ]);
  return { ...context, settings: { ...context.settings, ...Object.fromEntries(changed) } };
}

/** Looks for itself, outside the harness: the answer above is the model's, this is the project's. */
function testsPass(workspace: string): boolean {
  try {
    const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
    execFileSync(process.execPath, ['--test'], { cwd: workspace, stdio: 'ignore', env });
    return true;
  } catch {
    return false;
  }
}
