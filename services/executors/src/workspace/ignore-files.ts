/**
 * Ignore files (`.gitignore`, `.ignore`) of a workspace. Those above the workspace's root do not apply.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';

const NAMES = ['.gitignore', '.ignore'] as const;
const MAX_BYTES = 256 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** The rules that hold in a directory: its own and those of the directories above it. */
export interface IgnoreRules {
  readonly layers: readonly { readonly base: string; readonly rules: Ignore }[];
}
export const NO_RULES: IgnoreRules = { layers: [] };

/**
 * The rules in a directory.
 * @param relative below the workspace, `''` for its root
 * @param names what the directory holds, so that nothing is opened that is not there
 */
export async function rulesBelow(
  above: IgnoreRules,
  root: string,
  relative: string,
  names: ReadonlySet<string>,
): Promise<IgnoreRules> {
  const present = NAMES.filter((name) => names.has(name));
  if (present.length === 0) return above;
  const rules = ignore();
  for (const name of present) {
    rules.add(await readRules(join(root, relative, name)));
  }
  return { layers: [...above.layers, { base: relative === '' ? '' : `${relative}/`, rules }] };
}

/** The text of an ignore file; nothing when it is a link, a pipe, or larger than such a file is. */
async function readRules(path: string): Promise<string> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (!handle) return '';
  try {
    const stats = await handle.stat();
    return stats.isFile() && stats.size <= MAX_BYTES ? await handle.readFile('utf8') : '';
  } finally {
    await handle.close();
  }
}

/** True when the last rule that speaks about the path ignores it. */
export function isIgnored({ layers }: IgnoreRules, relative: string, isDirectory: boolean): boolean {
  let ignored = false;
  for (const { base, rules } of layers) {
    const below = relative.slice(base.length) + (isDirectory ? '/' : '');
    const { ignored: yes, unignored: no } = rules.test(below);
    if (yes) ignored = true;
    if (no) ignored = false;
  }
  return ignored;
}
