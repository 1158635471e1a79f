/** `list_dir`: the entries of one directory, ignored ones included. */
import { lstat, readdir } from 'node:fs/promises';
import type { OutputPart } from '@interlock/contracts';
import { z } from 'zod';
import { isDraftName } from '../workspace/atomic-write.ts';
import { childOf, openDirectory } from '../workspace/open.ts';
import { resolvePath, type Workspace } from '../workspace/paths.ts';
import { pathChange } from './edit-file.ts';
import { reject } from './rejection.ts';
import {
  defineTool,
  type ExecutionContext,
  failure,
  NO_EFFECTS,
  type Preflight,
  type Rejected,
  type Tool,
  type ToolResult,
} from './tool.ts';

const MAX_ENTRIES = 2000;

const input = z.strictObject({
  path: z.string().optional().describe('Directory, relative to the workspace. Default: the workspace.'),
});
type ListInput = z.infer<typeof input>;

export const listDir: Tool = defineTool<ListInput>({
  name: 'list_dir',
  version: '1',
  description:
    'Lists one directory of the workspace, one entry a line: directories end in /, links in @, files show their size.',
  input,
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 30_000, outputBytes: 32 * 1024 },
  resumePolicy: 'rerun-safe',
  preflight: async (call, context) => {
    const found = await directoryOf(context, call.path);
    if ('errors' in found) return found;
    return acceptRead({ ...call, path: found.relative }, call.path, found, `list ${found.relative}`);
  },
  execute,
});

/** A directory that a search begins in. */
export interface StartDirectory {
  readonly real: string;
  readonly relative: string;
}

/** Resolves the directory that a reader names; the workspace when it names none. */
export async function directoryOf(
  { workspace }: { readonly workspace: Workspace },
  path = '.',
): Promise<StartDirectory | Rejected> {
  const resolved = await resolvePath(workspace, path);
  if (!resolved.ok) return reject(resolved.code, '/path', resolved.message);
  const { real, relative, kind } = resolved;
  if (kind === 'missing') return reject('file_not_found', '/path', `there is no directory ${relative}`);
  if (kind !== 'directory')
    return reject(
      'not_a_regular_file',
      '/path',
      `${relative} is not a directory`,
      'Name a directory, or read the file.',
    );
  return { real, relative };
}

/** A reader of a directory that may run. */
export function acceptRead<Input extends { readonly path?: string | undefined }>(
  input: Input,
  given: string | undefined,
  at: StartDirectory,
  summary: string,
): Preflight<Input> {
  return {
    ok: true,
    input,
    changes: given === undefined ? [] : pathChange(given, at.relative),
    assessment: {
      effects: ['read-only'],
      paths: [{ path: given ?? '.', real: at.real, access: 'read', inside: true }],
      hosts: [],
      commands: [],
      confidence: 'certain',
      summary,
    },
    baselines: [],
  };
}

async function execute(call: ListInput, context: ExecutionContext): Promise<ToolResult> {
  const found = await directoryOf(context, call.path);
  if ('errors' in found) return failure(found.errors[0]?.message ?? '');
  const directory = await openDirectory(context.workspace, found.real);
  try {
    const entries = (await readdir(childOf(directory, '.'), { withFileTypes: true }))
      .filter(({ name }) => !isDraftName(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const lines: string[] = [];
    for (const entry of entries.slice(0, MAX_ENTRIES)) {
      const name = printable(entry.name);
      if (entry.isDirectory()) lines.push(`${name}/`);
      else if (entry.isSymbolicLink()) lines.push(`${name}@`);
      else {
        const stats = await lstat(childOf(directory, entry.name)).catch(() => null);
        lines.push(stats?.isFile() ? `${name}\t${stats.size}` : `${name}\t(special file)`);
      }
    }
    return {
      outcome: 'success',
      output: linesOutput(lines, entries.length, context.budgets.outputBytes),
      effects: NO_EFFECTS,
    };
  } finally {
    await directory.close();
  }
}

/** Lines within a budget, and a note when some are missing. */
export function linesOutput(lines: readonly string[], total: number, maxBytes: number): OutputPart[] {
  const shown: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    shown.push(line);
  }
  const omitted = lines.slice(shown.length).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  const parts: OutputPart[] = [{ channel: 'content', text: shown.join('\n'), omittedBytes: omitted }];
  if (shown.length < total)
    parts.push({ channel: 'note', text: `${shown.length} of ${total} entries are shown`, omittedBytes: 0 });
  if (total === 0) parts.push({ channel: 'note', text: 'nothing there', omittedBytes: 0 });
  return parts;
}

/** A name as one line: what would break the line or move the cursor is spelled out. */
export function printable(name: string): string {
  return name.replaceAll(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
