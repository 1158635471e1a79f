/**
 * What edit_file and write_file have in common: a change of one file that is planned, shown, and carried out.
 *
 * C1. What is written is planned from the very bytes whose hash the permit names, read at the start of the call.
 * C2. Just before the new content takes the file's name the file is looked at once more.
 */
import type { ArtifactRef, Assessment, FileEffect } from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { removeDraft, writeAtomically } from '../workspace/atomic-write.ts';
import { FileRefusedError } from '../workspace/open.ts';
import { type ResolvedPath, resolvePath } from '../workspace/paths.ts';
import { hashFile } from '../workspace/read-content.ts';
import { isSecretPath, isSteeringPath } from '../workspace/secrets.ts';
import { decodeText } from '../workspace/text.ts';
import { countLines, unifiedDiff } from '../workspace/unified-diff.ts';
import type { Effects, ExecutionContext, ProbeContext, ToolResult } from './tool.ts';

/** One file before and after a call. */
export interface FileChange {
  readonly relative: string;
  readonly real: string;
  /** Null: the file is made. */
  readonly before: {
    readonly bytes: Uint8Array;
    readonly sha256: string;
    readonly text: string | null;
  } | null;
  readonly after: { readonly bytes: Uint8Array; readonly text: string };
}

/** The change as people see it before it happens. */
export function assessChange(change: FileChange, verb: string): Assessment {
  const { relative, real } = change;
  const preview = previewOf(change);
  const { added, removed } = countLines(preview);
  const effects: Assessment['effects'] = [isSteeringPath(relative) ? 'writes-outside' : 'writes-workspace'];
  if (isSecretPath(relative)) effects.push('reads-secrets');
  return {
    effects,
    paths: [{ path: relative, real, access: 'write', inside: true }],
    hosts: [],
    commands: [],
    confidence: 'certain',
    summary: `${verb} ${relative}: ${added} lines added, ${removed} removed`,
    preview,
  };
}

function previewOf({ relative, before, after }: FileChange): string {
  return unifiedDiff({
    path: relative,
    before: before === null ? null : (before.text ?? ''),
    after: after.text,
  });
}

/** Carries a planned change out. */
export async function applyChange(change: FileChange, context: ExecutionContext): Promise<ToolResult> {
  const { relative, real, before, after } = change;
  await writeAtomically({
    workspace: context.workspace,
    real,
    bytes: after.bytes,
    intent: context.intent,
    confirm: async () => {
      if (context.signal.aborted) throw new FileRefusedError('aborted', `${relative} was not changed`);
      const now = await hashFile(context.workspace, real);
      if (now !== (before?.sha256 ?? null)) throw new StaleFileError(relative);
    },
  });
  const sha256 = sha256Hex(after.bytes);
  context.seen.remember(sha256, after.text);
  return {
    outcome: 'success',
    output: [{ channel: 'content', text: summaryOf(change), omittedBytes: 0 }],
    effects: effectsOf(change, context),
    reads: [{ path: real, sha256, range: null }],
  };
}

/** The file is not what the call rests on. */
export class StaleFileError extends FileRefusedError {
  constructor(relative: string) {
    super('stale_baseline', `${relative} changed while the call ran; nothing was written`);
  }
}

function declaredEffects(change: FileChange, after: string, diff: ArtifactRef | null): Effects {
  const file: FileEffect = {
    path: change.relative,
    change: change.before === null ? 'added' : 'changed',
    before: change.before?.sha256 ?? null,
    after,
    ...(diff ? { diff: diff.uri } : {}),
  };
  return { files: [file], scope: 'declared', excluded: [] };
}

function summaryOf(change: FileChange): string {
  const { added, removed } = countLines(previewOf(change));
  const verb = change.before === null ? 'created' : 'changed';
  return `${verb} ${change.relative} (${added} lines added, ${removed} removed)`;
}

/** Where the call's file is, whether or not it is there. @throws FileRefusedError */
export async function resolveForChange(
  context: Pick<ProbeContext, 'workspace'>,
  path: string,
): Promise<ResolvedPath> {
  const resolved = await resolvePath(context.workspace, path);
  if (!resolved.ok) throw new FileRefusedError(resolved.code, resolved.message);
  if (resolved.kind === 'directory')
    throw new FileRefusedError('not_a_regular_file', `${resolved.relative} is a directory`);
  if (resolved.kind === 'other')
    throw new FileRefusedError('not_a_regular_file', `${resolved.relative} is not a regular file`);
  return resolved;
}

/** What is in a file now, for a look at the world; a draft that the call left is removed. */
export async function lookAt(
  { workspace, intent }: ProbeContext,
  real: string,
): Promise<{ readonly sha256: string | null }> {
  await removeDraft(workspace, real, intent);
  return { sha256: await hashFile(workspace, real) };
}

/** Text of bytes; null when they are binary. */
export function textOf(bytes: Uint8Array): string | null {
  const decoded = decodeText(bytes);
  return decoded.kind === 'text' ? decoded.text : null;
}

/** The effects of a change that has been made; its diff is attached where both sides are known text. */
export function effectsOf(change: FileChange, { attach }: Pick<ProbeContext, 'attach'>): Effects {
  const { relative, before, after } = change;
  const known = before === null || before.text !== null;
  const diff = known
    ? attach(Buffer.from(previewOf(change)), { mediaType: 'text/x-diff', name: `${relative}.diff` })
    : null;
  return declaredEffects(change, sha256Hex(after.bytes), diff);
}
