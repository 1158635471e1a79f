/** `read_file`: lines of a text file, as they are. What it shows becomes a baseline for edits. */
import type { OutputPart } from '@interlock/contracts';
import { z } from 'zod';
import { openFile } from '../workspace/open.ts';
import { resolvePath } from '../workspace/paths.ts';
import { readLines, type ShownLines } from '../workspace/read-lines.ts';
import { isSecretPath } from '../workspace/secrets.ts';
import { decodeText } from '../workspace/text.ts';
import { pathChange } from './edit-file.ts';
import { reject, rejectFile } from './rejection.ts';
import {
  defineTool,
  type ExecutionContext,
  failure,
  NO_EFFECTS,
  type Preflight,
  type PreflightContext,
  type Tool,
  type ToolResult,
} from './tool.ts';

const DEFAULT_LINES = 2000;
const MAX_LINE_CHARS = 2000;
/** Looked at to tell text from binary before the call is decided. */
const HEAD_BYTES = 8192;

const input = z.strictObject({
  path: z.string().describe('File to read, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line, from 1. Default 1.'),
  limit: z.int().min(1).max(100_000).optional().describe(`Lines at most. Default ${DEFAULT_LINES}.`),
});
type ReadInput = z.infer<typeof input>;

export const readFile: Tool = defineTool<ReadInput>({
  name: 'read_file',
  version: '1',
  description: [
    'Reads a text file of the workspace and shows its lines exactly as they are, without numbers.',
    `At most ${DEFAULT_LINES} lines unless limit says otherwise; lines beyond ${MAX_LINE_CHARS} characters are clipped, and it says so.`,
    'A file must be read before it can be edited.',
  ].join(' '),
  input,
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 30_000, outputBytes: 64 * 1024 },
  resumePolicy: 'rerun-safe',
  preflight,
  execute,
});

async function preflight(call: ReadInput, { workspace }: PreflightContext): Promise<Preflight<ReadInput>> {
  const resolved = await resolvePath(workspace, call.path);
  if (!resolved.ok) return reject(resolved.code, '/path', resolved.message);
  const { relative, real, kind } = resolved;
  if (kind === 'missing') return reject('file_not_found', '/path', `there is no file ${relative}`);
  if (kind === 'directory')
    return reject('not_a_regular_file', '/path', `${relative} is a directory`, 'Use list_dir, glob or grep.');
  if (kind === 'other')
    return reject('not_a_regular_file', '/path', `${relative} is a device, a pipe or a socket`);
  try {
    const handle = await openFile(workspace, real);
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      const size = resolved.stats?.size ?? bytesRead;
      if (isBinaryHead(buffer.subarray(0, bytesRead)))
        return reject('binary_file', '/path', `${relative} is not text (${size} bytes)`);
    } finally {
      await handle.close();
    }
  } catch (error) {
    return rejectFile(error, '/path');
  }
  return {
    ok: true,
    input: { ...call, path: relative },
    changes: pathChange(call.path, relative),
    assessment: {
      effects: isSecretPath(relative) ? ['read-only', 'reads-secrets'] : ['read-only'],
      paths: [{ path: call.path, real, access: 'read', inside: true }],
      hosts: [],
      commands: [],
      confidence: 'certain',
      summary: `read ${relative}`,
    },
    baselines: [],
  };
}

/** A head that ends within a character is no less text. */
function isBinaryHead(head: Uint8Array): boolean {
  const cuts = head.length < HEAD_BYTES ? [0] : [0, 1, 2, 3];
  return cuts.every((cut) => decodeText(head.subarray(0, head.length - cut)).kind === 'binary');
}

async function execute(call: ReadInput, context: ExecutionContext): Promise<ToolResult> {
  const { workspace, budgets, seen } = context;
  const resolved = await resolvePath(workspace, call.path);
  if (!resolved.ok) return failure(resolved.message);
  const from = call.offset ?? 1;
  const shown = await readLines(workspace, resolved.real, {
    from,
    limit: call.limit ?? DEFAULT_LINES,
    maxLineChars: MAX_LINE_CHARS,
    maxBytes: budgets.outputBytes,
  });
  if (shown.text !== null) seen.remember(shown.sha256, shown.text);
  const whole = from === 1 && shown.to === shown.totalLines && shown.clipped.length === 0;
  const range = whole ? null : { from, to: shown.to };
  return {
    outcome: 'success',
    output: [contentPart(shown), ...notePart(shown, resolved.relative, from)],
    effects: NO_EFFECTS,
    reads: [{ path: resolved.real, sha256: shown.sha256, range }],
  };
}

function contentPart({ lines, clippedBytes }: ShownLines): OutputPart {
  return { channel: 'content', text: lines.join('\n'), omittedBytes: clippedBytes };
}

/** What the content does not say by itself. */
function notePart(shown: ShownLines, relative: string, from: number): OutputPart[] {
  const { to, totalLines, totalBytes, clipped, encoding } = shown;
  const notes: string[] = [];
  if (totalBytes === 0) notes.push(`${relative} is empty`);
  else if (to < from) notes.push(`${relative} has ${totalLines} lines; none from line ${from}`);
  else if (from > 1 || to < totalLines) {
    const more = to < totalLines ? `; go on with offset ${to + 1}` : '';
    notes.push(`lines ${from} to ${to} of ${totalLines}${more}`);
  }
  for (const { line, chars } of clipped.slice(0, 10)) {
    notes.push(
      `line ${line} is clipped at ${MAX_LINE_CHARS} of ${chars} characters; the rest cannot be read this way`,
    );
  }
  if (clipped.length > 10) notes.push(`${clipped.length - 10} more lines are clipped`);
  if (encoding !== 'utf8') notes.push(`encoding ${encoding}`);
  return notes.length === 0 ? [] : [{ channel: 'note', text: notes.join('\n'), omittedBytes: 0 }];
}
