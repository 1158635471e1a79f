/** `glob`: paths of files that match a pattern. */
import { z } from 'zod';
import { compileGlob } from '../search/search.ts';
import { acceptRead, directoryOf } from './list-dir.ts';
import { reject } from './rejection.ts';
import { searchResult } from './search-output.ts';
import { defineTool, failure, type Preflight, type PreflightContext, type Tool } from './tool.ts';

const MAX_HITS = 1000;

const input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe('Glob, for example **/*.ts. Without / it matches at any depth.'),
  path: z
    .string()
    .optional()
    .describe('Directory to search, relative to the workspace. Default: the workspace.'),
});
type GlobInput = z.infer<typeof input>;

export const glob: Tool = defineTool<GlobInput>({
  name: 'glob',
  version: '1',
  description: `Finds files by a glob pattern, sorted by path, at most ${MAX_HITS}. Files that ignore files name are skipped and counted.`,
  input,
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 30_000, outputBytes: 64 * 1024 },
  resumePolicy: 'rerun-safe',
  preflight,
  execute: async (call, context) => {
    const found = await directoryOf(context, call.path);
    if ('errors' in found) return failure(found.errors[0]?.message ?? '');
    const from = found.relative === '.' ? '' : found.relative;
    const { workspace } = context;
    const request = { kind: 'glob', workspace, from, pattern: call.pattern, limit: MAX_HITS } as const;
    return searchResult(request, context.signal, 'files');
  },
});

async function preflight(call: GlobInput, context: PreflightContext): Promise<Preflight<GlobInput>> {
  const wrong = globError(call.pattern);
  if (wrong) return reject('invalid_pattern', '/pattern', wrong);
  const found = await directoryOf(context, call.path);
  if ('errors' in found) return found;
  const summary = `find ${call.pattern} in ${found.relative}`;
  return acceptRead({ ...call, path: found.relative }, call.path, found, summary);
}

/** What is wrong with a glob; null when nothing is. */
export function globError(pattern: string): string | null {
  if (pattern.includes('\0')) return 'the pattern contains a NUL character';
  if (pattern.startsWith('/')) return 'the pattern is an absolute path; name the directory in path';
  if (pattern.split('/').includes('..')) return 'the pattern leads out of the directory';
  try {
    compileGlob(pattern);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'the pattern does not compile';
  }
}
