/** The built-in pools. */
import { createBash } from './tools/bash.ts';
import { editFile } from './tools/edit-file.ts';
import { glob } from './tools/glob.ts';
import { grep } from './tools/grep.ts';
import { listDir } from './tools/list-dir.ts';
import { readArtifact } from './tools/read-artifact.ts';
import { readFile } from './tools/read-file.ts';
import type { Tool } from './tools/tool.ts';
import { writeFile } from './tools/write-file.ts';

/** Tools by pool; made anew for each executor. */
export const POOLS: Readonly<Record<string, () => readonly Tool[]>> = {
  fs: () => [readFile, listDir, glob, grep, editFile, writeFile, readArtifact],
  shell: () => [createBash()],
};
