/** Settings of an executor, from `INTERLOCK_…`. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@interlock/kit';
import { z } from 'zod';

const MIB = 1024 * 1024;

const count = (fallback: number, what: string) =>
  z.coerce.number().int().positive().default(fallback).describe(what);
const paths = (what: string) =>
  z
    .string()
    .default('')
    .transform((text) => text.split(':').filter((path) => path.startsWith('/')))
    .describe(`absolute paths, separated by colons: ${what}`);

const executorConfigSchema = z.object({
  pool: z.string().default('fs').describe('the pool of this process'),
  spoolDir: z.string().optional().describe('a folder for facts while the log is away'),
  keysDir: z.string().optional().describe('the folder with the keys'),
  executorConcurrency: count(8, 'calls at a time'),
  leaseMs: count(30_000, 'milliseconds that a claim holds without being renewed'),
  stopGraceMs: count(2000, 'milliseconds that running calls have when the executor stops'),
  workspaceRoots: paths('where workspaces may be; empty for anywhere'),
  hiddenPaths: paths('what no call may see'),
  bwrapBin: z.string().optional().describe('path of bubblewrap'),
  sandboxRead: paths('what commands may read besides the programs'),
  sandboxUid: count(61_000, 'user id of commands when executor and workspace belong to root'),
  sandboxProcesses: count(512, 'processes of one command'),
  sandboxFileBytes: count(2048 * MIB, 'bytes of one file that a command writes'),
  sandboxScratchBytes: count(512 * MIB, 'bytes of a command in /tmp, and in its home'),
  maxChangeBytes: count(MIB, 'bytes that one edit or write may change'),
  maxFileBytes: count(16 * MIB, 'bytes of a file that may be edited'),
  maxArtifactBytes: count(32 * MIB, 'bytes of an output that are kept'),
  maxTimeoutMs: count(600_000, 'milliseconds that a command may ask for'),
});
export type ExecutorConfig = z.output<typeof executorConfigSchema>;

/** @throws ConfigError */
export function loadExecutorConfig(env: Readonly<Record<string, string | undefined>>): ExecutorConfig {
  return loadConfig(executorConfigSchema, { env });
}

/** Where facts lie while the log is away. Beside the keys when nothing else is said: that folder is private. */
export function spoolDirectory({ spoolDir, keysDir }: ExecutorConfig, pool: string): string {
  return join(
    spoolDir ?? join(keysDir ?? join(tmpdir(), `interlock-${process.getuid?.() ?? 0}`), 'spool'),
    pool,
  );
}
