/** `edit_file`: exact replacements in one file, all of them or none. */
import type { ValidationError } from '@interlock/contracts';
import { z } from 'zod';
import { applyEdits, type Edit, type EditOutcome, type EditProblem } from '../workspace/edits.ts';
import { nearestHint } from '../workspace/nearest.ts';
import { FileRefusedError } from '../workspace/open.ts';
import { relativeTo } from '../workspace/paths.ts';
import { readContent, readText } from '../workspace/read-content.ts';
import { encodeText, type TextFile } from '../workspace/text.ts';
import { undoEdits } from '../workspace/undo-edits.ts';
import { baselineProblem } from './baseline.ts';
import {
  applyChange,
  assessChange,
  effectsOf,
  type FileChange,
  lookAt,
  resolveForChange,
  StaleFileError,
} from './file-change.ts';
import { reject, rejectFile, rejection } from './rejection.ts';
import {
  defineTool,
  type ExecutionContext,
  type Preflight,
  type PreflightContext,
  type ProbeContext,
  type ProbeResult,
  type Rejected,
  type Tool,
  type ToolLimits,
  type ToolResult,
} from './tool.ts';

const oldText = z.string().min(1);
const input = z.strictObject({
  path: z.string().describe('File to edit, relative to the workspace.'),
  oldText: oldText.optional().describe('Text to replace, exactly as read_file shows it. Must occur once.'),
  newText: z.string().optional().describe('What to put in its place, literally.'),
  replaceAll: z.boolean().optional().describe('Replace every occurrence. Default false.'),
  edits: z
    .array(z.strictObject({ oldText, newText: z.string() }))
    .min(1)
    .max(200)
    .optional()
    .describe('Several replacements in place of oldText and newText. All apply, or none does.'),
});
type EditInput = z.infer<typeof input>;

const DESCRIPTION = [
  'Replaces text in a file that has been read in this session. oldText must match exactly and occur exactly once,',
  'unless replaceAll is set. Line ends, encoding and everything outside the match are kept as they are.',
  'Give either oldText and newText, or edits (each is matched against the file as it is before the call).',
  'To make a file, or to replace all of it, use write_file.',
].join(' ');

export const editFile: Tool = defineTool<EditInput>({
  name: 'edit_file',
  version: '1',
  description: DESCRIPTION,
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

/** The replacements of either form; an error when it is neither or both. */
function editsOf({ oldText: old, newText, edits }: EditInput): readonly Edit[] | Rejected {
  if (edits && (old !== undefined || newText !== undefined))
    return reject('schema_mismatch', '/edits', 'give either edits, or oldText and newText, not both');
  if (edits) return edits;
  if (old === undefined || newText === undefined)
    return reject(
      'schema_mismatch',
      old === undefined ? '/oldText' : '/newText',
      'oldText and newText are required',
    );
  return [{ oldText: old, newText }];
}

async function preflight(call: EditInput, context: PreflightContext): Promise<Preflight<EditInput>> {
  const edits = editsOf(call);
  if ('ok' in edits) return edits;
  try {
    const { real, relative, kind } = await resolveForChange(context, call.path);
    if (kind === 'missing') return reject('file_not_found', '/path', `there is no file ${relative}`);
    const { bytes, sha256, file } = await readText(context.workspace, real, context.limits.maxFileBytes);
    const stale = baselineProblem({ relative, real, bytes, sha256 }, context.reads, context.seen);
    if (stale) return stale;
    const after = plan(file, call, edits);
    if (!after.ok) return { ok: false, errors: problems(after.problems, call, file.text) };
    const encoded = encodeWithin(after, file, context.limits);
    if (!Buffer.isBuffer(encoded)) return encoded;
    const change: FileChange = {
      relative,
      real,
      before: { bytes, sha256, text: file.text },
      after: { bytes: encoded, text: after.text },
    };
    return {
      ok: true,
      input: { ...call, path: relative },
      changes: pathChange(call.path, relative),
      assessment: assessChange(change, 'edit'),
      baselines: [{ path: real, sha256 }],
    };
  } catch (error) {
    return rejectFile(error, '/path');
  }
}

export function pathChange(given: string, relative: string): { path: string; why: string }[] {
  return given === relative ? [] : [{ path: '/path', why: 'made relative to the workspace' }];
}

function plan(file: TextFile, { replaceAll = false }: EditInput, edits: readonly Edit[]) {
  return applyEdits(file.text, edits, replaceAll);
}

function encodeWithin(
  { text, replacements }: Extract<EditOutcome, { ok: true }>,
  file: TextFile,
  { maxChangeBytes, maxFileBytes }: ToolLimits,
): Buffer | Rejected {
  const bytes = encodeText(text, file);
  if (bytes === null)
    return reject(
      'schema_mismatch',
      '/newText',
      `the encoding of the file (${file.encoding}) has no such character`,
    );
  const changed = replacements.reduce(
    (sum, { start, end, text: put }) => sum + (end - start) + put.length,
    0,
  );
  if (changed > maxChangeBytes)
    return reject(
      'change_too_large',
      '',
      `the edits change ${changed} characters; the limit is ${maxChangeBytes}`,
    );
  if (bytes.length > maxFileBytes)
    return reject(
      'change_too_large',
      '',
      `the file would have ${bytes.length} bytes; the limit is ${maxFileBytes}`,
    );
  return bytes;
}

function problems(
  found: readonly EditProblem[],
  { edits, oldText: old = '' }: EditInput,
  text: string,
): Rejected['errors'] {
  return found.map((problem) => {
    const at = edits ? `/edits/${problem.edit}` : '';
    const wanted = edits ? (edits[problem.edit]?.oldText ?? '') : old;
    return problemError(problem, at, () => nearestHint(text, wanted));
  });
}

function problemError(problem: EditProblem, at: string, hint: () => string | null): ValidationError {
  switch (problem.code) {
    case 'text_not_found': {
      const near = hint();
      return rejection(
        'text_not_found',
        `${at}/oldText`,
        `oldText is not in the file${near ? `; ${near}` : ''}`,
      );
    }
    case 'text_not_unique':
      return rejection(
        'text_not_unique',
        `${at}/oldText`,
        `oldText occurs ${problem.count} times, at lines ${problem.lines.join(', ')}`,
      );
    case 'no_change':
      return rejection('no_change', `${at}/newText`, 'oldText and newText are the same');
    case 'overlap':
      return rejection(
        'text_not_unique',
        at,
        `edits ${problem.other} and ${problem.edit} overlap`,
        'Join the two.',
      );
  }
}

async function execute(call: EditInput, context: ExecutionContext): Promise<ToolResult> {
  const edits = editsOf(call);
  if ('ok' in edits) throw new TypeError(edits.errors[0]?.message);
  const { real, relative } = await resolveForChange(context, call.path);
  const { bytes, sha256, file } = await readText(context.workspace, real, context.limits.maxFileBytes);
  if (sha256 !== context.baselines.find(({ path }) => path === real)?.sha256)
    throw new StaleFileError(relative);
  const after = plan(file, call, edits);
  if (!after.ok) throw new StaleFileError(relative);
  const encoded = encodeText(after.text, file);
  if (encoded === null)
    throw new FileRefusedError('exception', `${relative}: not in the encoding of the file`);
  const before = { bytes, sha256, text: file.text };
  return applyChange({ relative, real, before, after: { bytes: encoded, text: after.text } }, context);
}

/** The edit is proven when undoing it on the file as it is gives the file as it was. */
async function probe(call: EditInput, context: ProbeContext): Promise<ProbeResult> {
  const edits = editsOf(call);
  const baseline = context.baselines[0];
  if ('ok' in edits || !baseline?.sha256)
    return { verdict: 'unknown', detail: 'the call names no file to look at' };
  const relative = relativeTo(context.workspace, baseline.path);
  const { sha256 } = await lookAt(context, baseline.path);
  if (sha256 === null) return { verdict: 'unknown', detail: `${relative} does not exist` };
  if (sha256 === baseline.sha256)
    return { verdict: 'unknown', detail: `${relative} is as it was before the call` };
  const content = await readContent(context.workspace, baseline.path, context.limits.maxFileBytes);
  const before = undoEdits(content.bytes, edits, baseline.sha256);
  if (!before)
    return { verdict: 'unknown', detail: `${relative} is neither as it was nor as the edit alone makes it` };
  const change: FileChange = {
    relative,
    real: baseline.path,
    before: { bytes: before.bytes, sha256: baseline.sha256, text: before.text },
    after: { bytes: content.bytes, text: before.after },
  };
  return {
    verdict: 'done',
    detail: `${relative} holds exactly what the edit makes of it`,
    effects: effectsOf(change, context),
    reads: [{ path: baseline.path, sha256: content.sha256, range: null }],
  };
}
