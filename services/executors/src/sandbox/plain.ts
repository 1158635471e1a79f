/**
 * Level D: no sandbox. A command has a clean environment and ends with its process group, and that is all.
 * It runs only where the decision names D; by the shipped policy that is for readers.
 */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { commandEnvironment } from './environment.ts';
import { MARKER } from './process-tree.ts';
import type { Sandbox } from './sandbox.ts';

export interface PlainOptions {
  readonly shortfall: string;
  readonly bash: string;
  readonly path: readonly string[];
  readonly privateDir: string;
}

export function createPlain({ shortfall, bash, path, privateDir }: PlainOptions): Sandbox {
  const environment = (workspace: string): Record<string, string> =>
    commandEnvironment({ path, home: homedir(), workspace });
  return {
    level: 'D',
    shortfall,
    envNames: [...Object.keys(environment('/')), MARKER].sort(),
    privateDir,
    launch: ({ command, workspace }) =>
      Promise.resolve({
        file: bash,
        args: ['--noprofile', '--norc', '-c', command],
        env: { ...environment(workspace.root), [MARKER]: randomUUID() },
        cwd: workspace.root,
        seccompPath: null,
        idMap: null,
        tree: 'group',
      }),
  };
}
