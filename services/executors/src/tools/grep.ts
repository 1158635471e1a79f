/** `grep`: lines of text files that match a regular expression. */
import type { Assessment } from '@interlock/contracts';
import { z } from 'zod';
import { compile } from '../search/search.ts';
import { type ResolvedPath, resolvePath } from '../workspace/paths.ts';
import { isSecretPath } from '../workspace/secrets.ts';
import { pathChange } from './edit-file.ts';
import { globError } from './glob.ts';
import { reject } from './rejection.ts';
import { searchResult } from './search-output.ts';
import { defineTool, failure, type Preflight, type PreflightContext, type Tool } from './tool.ts';

const DEFAULT_HITS = 200;
const MAX_HITS = 2000;

const input = z.strictObject({
  pattern: z.string().min(1).max(2000).describe('Regular expression (JavaScript), matched within one line.'),
  path: z
    .string()
    .optional()
    .describe('File or directory, relative to the workspace. Default: the workspace.'),
  glob: z.string().min(1).max(1000).optional().describe('Search only files that match, for example *.ts.'),
  ignoreCase: z.boolean().optional().describe('Default false.'),
  limit: z.int().min(1).max(MAX_HITS).optional().describe(`Hits at most. Default ${DEFAULT_HITS}.`),
});
type GrepInput = z.infer<typeof input>;

export const grep: Tool = defineTool<GrepInput>({
  name: 'grep',
  version: '1',
  description: [
    'Searches text files by a regular expression and shows each hit as path:line:text.',
    'Files that ignore files name are skipped and counted; long lines are clipped around the hit.',
  ].join(' '),
  input,
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 30_000, outputBytes: 30_000 },
  resumePolicy: 'rerun-safe',
  preflight,
  execute: async (call, context) => {
    const found = await resolvePath(context.workspace, call.path ?? '.');
    if (!found.ok) return failure(found.message);
    const request = {
      kind: 'grep',
      workspace: context.workspace,
      from: found.relative === '.' ? '' : found.relative,
      fromIsFile: found.kind === 'file',
      pattern: call.pattern,
      ignoreCase: call.ignoreCase ?? false,
      glob: call.glob ?? null,
      limit: call.limit ?? DEFAULT_HITS,
      maxBytes: context.budgets.outputBytes,
    } as const;
    return searchResult(request, context.signal, 'hits');
  },
});

async function preflight(call: GrepInput, context: PreflightContext): Promise<Preflight<GrepInput>> {
  const wrongGlob = call.glob === undefined ? null : globError(call.glob);
  if (wrongGlob) return reject('invalid_pattern', '/glob', wrongGlob);
  try {
    compile(call.pattern, false);
  } catch (error) {
    return reject(
      'invalid_pattern',
      '/pattern',
      error instanceof Error ? error.message : 'it does not compile',
    );
  }
  const given = call.path ?? '.';
  const found = await resolvePath(context.workspace, given);
  if (!found.ok) return reject(found.code, '/path', found.message);
  if (found.kind === 'missing') return reject('file_not_found', '/path', `there is no ${found.relative}`);
  if (found.kind === 'other')
    return reject('not_a_regular_file', '/path', `${found.relative} is a special file`);
  return {
    ok: true,
    input: { ...call, path: found.relative },
    changes: call.path === undefined ? [] : pathChange(call.path, found.relative),
    assessment: assessment(call, found),
    baselines: [],
  };
}

function assessment({ pattern, path = '.' }: GrepInput, { relative, real }: ResolvedPath): Assessment {
  return {
    effects: isSecretPath(relative) ? ['read-only', 'reads-secrets'] : ['read-only'],
    paths: [{ path, real, access: 'read', inside: true }],
    hosts: [],
    commands: [],
    confidence: 'certain',
    summary: `search ${relative} for ${pattern}`,
  };
}
