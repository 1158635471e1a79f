/** `write_file`: makes a file, or replaces all of one that has been read. */
import { sha256Hex } from '@interlock/kit/pure';
import { z } from 'zod';
import { FileRefusedError } from '../workspace/open.ts';
import type { ResolvedPath } from '../workspace/paths.ts';
import { relativeTo } from '../workspace/paths.ts';
import { readContent } from '../workspace/read-content.ts';
import { decodeText, encodeText, isCrlf } from '../workspace/text.ts';
import { baselineProblem } from './baseline.ts';
import { pathChange } from './edit-file.ts';
import {
  applyChange,
  assessChange,
  effectsOf,
  type FileChange,
  lookAt,
  resolveForChange,
  StaleFileError,
  textOf,
} from './file-change.ts';
import { reject, rejectFile } from './rejection.ts';
import {
  defineTool,
  type ExecutionContext,
  type Preflight,
  type PreflightContext,
  type ProbeContext,
  type ProbeResult,
  type Tool,
  type ToolResult,
} from './tool.ts';

const input = z.strictObject({
  path: z.string().describe('File to write, relative to the workspace. Directories above it are made.'),
  content: z.string().describe('The whole new content.'),
});
type WriteInput = z.infer<typeof input>;

export const writeFile: Tool = defineTool<WriteInput>({
  name: 'write_file',
  version: '1',
  description: [
    'Makes a file, or replaces the whole content of one that has been read in this session.',
    'An existing file keeps its encoding, its byte order mark, its mode and, where all its lines end in CR LF, its line ends.',
    'For a change of a part use edit_file.',
  ].join(' '),
  input,
  readOnly: false,
  visibleIn: ['normal', 'auto-edit', 'replay'],
  needsBaseline: true,
  budgets: { timeoutMs: 30_000, outputBytes: 4096 },
  resumePolicy: 'probe',
  preflight,
  execute,
  probe,
});

async function preflight(call: WriteInput, context: PreflightContext): Promise<Preflight<WriteInput>> {
  const { maxChangeBytes } = context.limits;
  if (Buffer.byteLength(call.content) > maxChangeBytes)
    return reject('change_too_large', '/content', `content is larger than ${maxChangeBytes} bytes`);
  try {
    const target = await resolveForChange(context, call.path);
    const change = await plan(call, context, target);
    if (change.before) {
      const stale = baselineProblem({ ...change, ...change.before }, context.reads, context.seen);
      if (stale) return stale;
      if (sha256Hex(change.after.bytes) === change.before.sha256)
        return reject('no_change', '/content', `${change.relative} has this content already`);
    }
    return {
      ok: true,
      input: { path: target.relative, content: call.content },
      changes: pathChange(call.path, target.relative),
      assessment: assessChange(change, change.before ? 'overwrite' : 'create'),
      baselines: [{ path: target.real, sha256: change.before?.sha256 ?? null }],
    };
  } catch (error) {
    return rejectFile(error, '/path');
  }
}

/** @throws FileRefusedError */
async function plan(
  { content }: WriteInput,
  { workspace, limits }: Pick<ExecutionContext, 'workspace' | 'limits'>,
  { real, relative, kind }: ResolvedPath,
): Promise<FileChange> {
  if (kind === 'missing') {
    const bytes = Buffer.from(content.toWellFormed());
    return { relative, real, before: null, after: { bytes, text: content } };
  }
  const before = await readContent(workspace, real, limits.maxFileBytes);
  const after = contentFor(before.bytes, content);
  if (!after)
    throw new FileRefusedError('schema_mismatch', `${relative}: its encoding has no such character`);
  return { relative, real, before: { ...before, text: textOf(before.bytes) }, after };
}

/** The content in the encoding and with the line ends of the file that it replaces; null when that cannot be. */
function contentFor(before: Uint8Array, content: string): FileChange['after'] | null {
  const file = decodeText(before);
  if (file.kind === 'binary' || file.text === '')
    return { bytes: Buffer.from(content.toWellFormed()), text: content };
  const text = isCrlf(file.text) ? content.replaceAll(/\r\n|\n/g, '\r\n') : content;
  const bytes = encodeText(text, file);
  return bytes ? { bytes, text } : null;
}

async function execute(call: WriteInput, context: ExecutionContext): Promise<ToolResult> {
  const target = await resolveForChange(context, call.path);
  const baseline = context.baselines.find(({ path }) => path === target.real);
  const change = await plan(call, context, target);
  if (!baseline || baseline.sha256 !== (change.before?.sha256 ?? null))
    throw new StaleFileError(target.relative);
  return applyChange(change, context);
}

/** A new file is proven by its hash. One that replaced another may have been encoded like it, which only it could tell. */
async function probe(call: WriteInput, context: ProbeContext): Promise<ProbeResult> {
  const baseline = context.baselines[0];
  if (!baseline) return { verdict: 'unknown', detail: 'the call names no file to look at' };
  const real = baseline.path;
  const relative = relativeTo(context.workspace, real);
  const { sha256 } = await lookAt(context, real);
  if (sha256 === baseline.sha256) {
    const how = sha256 === null ? 'does not exist, as before the call' : 'is as it was before the call';
    return { verdict: 'unknown', detail: `${relative} ${how}` };
  }
  if (sha256 === null) return { verdict: 'unknown', detail: `${relative} does not exist any more` };
  const { bytes } = await readContent(context.workspace, real, context.limits.maxFileBytes);
  // A file of this content, whatever stood there before, is encoded like itself.
  const expected = baseline.sha256 === null ? plain(call.content) : contentFor(bytes, call.content);
  if (!expected || sha256Hex(expected.bytes) !== sha256)
    return {
      verdict: 'unknown',
      detail: `${relative} holds neither what was there nor what was to be written`,
    };
  const before =
    baseline.sha256 === null ? null : { bytes: new Uint8Array(0), sha256: baseline.sha256, text: null };
  const change: FileChange = { relative, real, before, after: expected };
  return {
    verdict: 'done',
    detail: `${relative} holds exactly what was to be written`,
    effects: effectsOf(change, context),
    reads: [{ path: real, sha256, range: null }],
  };
}

function plain(content: string): FileChange['after'] {
  return { bytes: Buffer.from(content.toWellFormed()), text: content };
}
