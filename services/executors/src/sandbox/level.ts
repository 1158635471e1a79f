import type { SandboxLevel } from '@interlock/contracts';
import { loadExecutorConfig } from '../config.ts';
import { probeSandbox } from './probe.ts';

/** What sandbox an executor would have on this host, and what a lower level than `A` lacks. Tries it; leaves nothing. */
export async function probeSandboxLevel(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly level: SandboxLevel; readonly shortfall: string | null }> {
  const config = loadExecutorConfig(env);
  const { level, shortfall, dispose } = await probeSandbox({
    bwrap: config.bwrapBin,
    path: env.PATH ?? '',
    extraPaths: config.sandboxRead,
    plainUid: config.sandboxUid,
    limits: {
      processes: config.sandboxProcesses,
      fileBytes: config.sandboxFileBytes,
      scratchBytes: config.sandboxScratchBytes,
    },
  });
  await dispose();
  return { level, shortfall };
}
