/** What a sandbox is to those who run commands in it. */
import type { SandboxLevel } from '@interlock/contracts';
import type { Workspace } from '../workspace/paths.ts';

export interface SandboxedCommand {
  /** A line for bash. */
  readonly command: string;
  readonly workspace: Workspace;
  readonly writable: boolean;
  /** The line is a write of version control that a person or a rule approved: `.git` may change. */
  readonly gitWritable: boolean;
  /** Real paths below the workspace that stay as they are: `.git` of repositories, files that steer the house. */
  readonly protectedPaths: readonly string[];
}

/** A program to start. File descriptors 0 to 2 are the caller's. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A file that the program reads on descriptor 3. */
  readonly seccompPath: string | null;
  /** Bubblewrap waits on descriptor 5 until this process has mapped these ids for the child it names on descriptor 4. */
  readonly idMap: { readonly uid: string; readonly gid: string } | null;
  /** How its process tree ends: with its namespace, or as a group and whatever can be found of its descendants. */
  readonly tree: 'namespace' | 'group';
}

export interface Sandbox {
  readonly level: SandboxLevel;
  /** Why it is not level A; null when it is. */
  readonly shortfall: string | null;
  /** Names of the variables that a command sees. */
  readonly envNames: readonly string[];
  launch(command: SandboxedCommand): Promise<Launch>;
  /** Directory for files that only this process may enter. */
  readonly privateDir: string;
}

/** Limits on what runs in a sandbox. */
export interface SandboxLimits {
  readonly processes: number;
  readonly fileBytes: number;
  /** Of each temporary file system (`/tmp`, the home directory). */
  readonly scratchBytes: number;
}
