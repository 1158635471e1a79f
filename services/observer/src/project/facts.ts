/** Facts of an execution as lines, in a fixed order: exit code, signal, duration, files, network, artifacts. */
import type { FileEffect, ObservationPart, ToolExecutionCompletedV1 } from '@interlock/contracts';
import { byteLength, clip } from './bytes.ts';
import { fact, type ProjectOptions } from './projection.ts';

type Completed = ToolExecutionCompletedV1;

const NAME_BYTES = 400;

/** Bytes that one list (files, hosts, artifacts) may take of a budget. */
const listBytes = (budgetBytes: number): number => Math.max(NAME_BYTES + 100, Math.floor(budgetBytes / 16));

/** How it ended and how long it took. An exit code is shown whenever there is one, 0 too. */
export function processFacts({ exitCode, signal, durationMs }: Completed): ObservationPart[] {
  const lines: string[] = [];
  if (exitCode !== null) lines.push(`Exit code ${exitCode}.`);
  if (signal !== null) lines.push(`Ended by signal ${plain(signal, 40)}.`);
  lines.push(`Took ${duration(durationMs)}.`);
  return lines.map(fact);
}

/** What the call did to files, as far as anyone looked. */
export function fileFacts(
  { effects }: Completed,
  { readOnly, budgetBytes }: ProjectOptions,
): ObservationPart[] {
  const { files, scope, excluded } = effects;
  const maxBytes = listBytes(budgetBytes);
  if (scope === 'none' && files.length === 0)
    return readOnly ? [] : [fact('Whether files changed was not looked at.')];
  if (files.length === 0) {
    return scope === 'declared' || readOnly
      ? []
      : [fact(`No file of the workspace changed${besides(excluded, maxBytes)}.`)];
  }
  const whose = scope === 'complete' ? 'Files changed' : 'Files changed, as the tool itself tells';
  return [fact(`${whose}${besides(excluded, maxBytes)}: ${listed(files.map(toLine), maxBytes)}.`)];
}

function toLine({ path, change }: FileEffect): string {
  return `${change} ${plain(path, NAME_BYTES)}`;
}

function besides(excluded: readonly string[], maxBytes: number): string {
  return excluded.length === 0
    ? ''
    : ` (not looked at: ${listed(
        excluded.map((path) => plain(path, 100)),
        maxBytes,
      )})`;
}

/** What the call tried to reach. */
export function networkFacts({ network }: Completed, { budgetBytes }: ProjectOptions): ObservationPart[] {
  const lines = network.map(
    ({ host, port, allowed }) => `${plain(host, 100)}:${port} ${allowed ? 'allowed' : 'blocked'}`,
  );
  return lines.length === 0 ? [] : [fact(`Network: ${listed([...new Set(lines)], listBytes(budgetBytes))}.`)];
}

/** What the call left behind to be read. */
export function artifactFacts({ artifacts }: Completed, { budgetBytes }: ProjectOptions): ObservationPart[] {
  const lines = artifacts.map(
    ({ name, uri, mediaType, sizeBytes }) =>
      `${plain(name ?? 'unnamed', 100)} (${plain(mediaType, 60)}, ${sizeBytes} bytes) ${uri}`,
  );
  return lines.length === 0 ? [] : [fact(`Artifacts: ${listed(lines, listBytes(budgetBytes))}.`)];
}

/** Items until the list is full, and how many there are beyond. */
function listed(items: readonly string[], maxBytes: number): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const item of items) {
    bytes += byteLength(item) + 2;
    if (bytes > maxBytes && shown.length > 0) break;
    shown.push(item);
  }
  const more = items.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}

/** A foreign word as it may stand in a fact: one line, bounded, quoted when it is not plain. */
export function plain(text: string, maxBytes: number): string {
  const isPlain = /^[\p{L}\p{N}\p{M}._/@+=:~-]+$/u.test(text);
  return clip(isPlain ? text : JSON.stringify(text.toWellFormed()), maxBytes);
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
