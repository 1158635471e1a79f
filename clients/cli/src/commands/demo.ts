import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadSettings } from '../settings.ts';
import { type RunFlags, run } from './run.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const SAMPLE = join(ROOT, 'examples', 'sample-sum');
const SCRIPT = join(ROOT, 'examples', 'sample-sum.script.json');
const SAMPLE_TASK = "Find out why this project's tests fail, and fix it.";

interface DemoFlags extends RunFlags {
  readonly workspace?: string;
}

/** `npm start`: the main job on the sample project, or on one's own with a task and `--workspace`. */
export function registerDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('Run the main job on a copy of the sample project, or a task of your own with --workspace.')
    .argument('[task]', 'what to do', SAMPLE_TASK)
    .option('--workspace <dir>', 'your own project instead of the sample')
    .option('--policy <file>', 'rules of your own (YAML)')
    .option('--approve <how>', 'answer asks: all, none, or ask')
    .action(async (task: string, flags: DemoFlags) => {
      context.exit(
        flags.workspace ? await onOwnProject(context, task, flags) : await onSample(context, task),
      );
    });
}

async function onOwnProject(context: CommandContext, task: string, flags: DemoFlags): Promise<ExitCode> {
  const { model, mode } = context.settings;
  if (!process.env.ANTHROPIC_API_KEY && model.value === undefined) {
    throw new CliError(
      'usage',
      'A project of your own needs a model: set ANTHROPIC_API_KEY, or --model scripted:FILE.',
    );
  }
  return await run(
    withSettings(context, { mode: mode.source === 'default' ? 'auto-edit' : mode.value }),
    task,
    flags,
  );
}

async function onSample(context: CommandContext, task: string): Promise<ExitCode> {
  const { terminal } = context;
  if (!existsSync(SAMPLE)) throw new CliError('workspace_invalid', `The sample project is not at ${SAMPLE}.`);
  const workspace = mkdtempSync(join(tmpdir(), 'interlock-sample-'));
  cpSync(SAMPLE, workspace, { recursive: true });
  const scripted = !process.env.ANTHROPIC_API_KEY;
  const model = context.settings.model.value ?? (scripted ? `scripted:${SCRIPT}` : undefined);
  terminal.note('');
  terminal.note(`Sample project (a copy): ${workspace}`);
  terminal.note(
    scripted
      ? 'No ANTHROPIC_API_KEY is set, so a scripted model plays the proposals; everything after them is real.'
      : 'ANTHROPIC_API_KEY is set, so Claude proposes.',
  );
  terminal.note(`Task: ${task}`);
  terminal.note('');
  const code = await run(withSettings(context, { model, mode: 'auto-edit' }), task, { workspace });
  const passes = testsPass(workspace);
  if (!context.json) {
    terminal.out(passes ? `The tests of ${workspace} pass now.` : `The tests of ${workspace} still fail.`);
    terminal.out('On a project of your own: npm start -- "<task>" --workspace DIR');
  }
  return code === EXIT.done && !passes ? EXIT.error : code;
}

function withSettings(
  context: CommandContext,
  flags: { model?: string | undefined; mode?: string | undefined },
): CommandContext {
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  const { natsUrl, stateDir, tenant, person, logLevel } = context.settings;
  const kept = Object.fromEntries(
    [natsUrl, stateDir, tenant, person, logLevel]
      .filter(({ value }) => value)
      .map(({ name, value }) => [name, value]),
  );
  return { ...context, settings: loadSettings({ ...kept, ...given }) };
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
