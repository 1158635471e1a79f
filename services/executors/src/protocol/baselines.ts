/** Whether the files that a permit rests on are as they were decided on. */
import type { Invocation } from '@interlock/contracts';
import type { ExecutorHouse } from '../house.ts';
import { describeChange } from '../tools/baseline.ts';
import { FileRefusedError } from '../workspace/open.ts';
import { relativeTo, resolvePath, type Workspace } from '../workspace/paths.ts';
import { hashFile, readContent } from '../workspace/read-content.ts';

/** What is different, for the first file that is; null when all are the same. */
export async function staleBaseline(
  house: ExecutorHouse,
  workspace: Workspace,
  { baselines }: Invocation,
): Promise<string | null> {
  for (const { path, sha256 } of baselines) {
    const resolved = await resolvePath(workspace, path);
    if (!resolved.ok) return resolved.message;
    const relative = relativeTo(workspace, path);
    if (resolved.real !== path) return `${relative} leads elsewhere than when it was decided on`;
    const now = await hashFile(workspace, path).catch(refusalOf);
    if (now === sha256) continue;
    if (now instanceof FileRefusedError) return now.message;
    if (now === null) return `${relative} does not exist any more`;
    if (sha256 === null) return `${relative} exists now`;
    return await whatChanged(house, workspace, path, sha256);
  }
  return null;
}

async function whatChanged(
  { limits, seen }: ExecutorHouse,
  workspace: Workspace,
  real: string,
  before: string,
): Promise<string> {
  const content = await readContent(workspace, real, limits.maxFileBytes).catch(refusalOf);
  if (content instanceof FileRefusedError) return content.message;
  return describeChange({ ...content, real, relative: relativeTo(workspace, real) }, before, seen);
}

function refusalOf(error: unknown): FileRefusedError {
  if (error instanceof FileRefusedError) return error;
  throw error;
}
