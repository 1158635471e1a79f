/**
 * Walking a workspace: for searches. Order is by name, links are not followed, ignored entries are counted.
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDraftName } from './atomic-write.ts';
import { type IgnoreRules, isIgnored, NO_RULES, rulesBelow } from './ignore-files.ts';
import { isHidden, type Workspace } from './paths.ts';

export interface Found {
  /** Below the workspace, with `/`. */
  readonly relative: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

export interface WalkOptions {
  readonly workspace: Workspace;
  /** Where to begin, below the workspace; `''` for all of it. */
  readonly from: string;
  /** Entries looked at before it gives up. Default 500 000. */
  readonly maxEntries?: number;
}

export interface WalkTotals {
  /** Entries that an ignore file hides; what is below them is not counted. */
  ignored: number;
  /** Directories that could not be read. */
  unreadable: number;
  /** True when `maxEntries` was reached. */
  cut: boolean;
}

/** Yields files, links and directories below a place; fills `totals` while it goes. */
export async function* walk(options: WalkOptions, totals: WalkTotals): AsyncGenerator<Found> {
  const { workspace, from, maxEntries = 500_000 } = options;
  let seen = 0;
  const stack: Place[] = [{ relative: from, rules: await rulesAbove(workspace.root, from) }];
  for (let place = stack.pop(); place; place = stack.pop()) {
    const listing = await list(workspace, place, totals);
    const deeper: Place[] = [];
    for (const found of listing.found) {
      seen += 1;
      if (seen > maxEntries) {
        totals.cut = true;
        return;
      }
      yield found;
      if (found.kind === 'directory') deeper.push({ relative: found.relative, rules: listing.rules });
    }
    stack.push(...deeper.reverse());
  }
}

interface Place {
  readonly relative: string;
  readonly rules: IgnoreRules;
}

/** The entries of a directory that are not ignored, by name, and the rules that hold in it. */
async function list(
  workspace: Workspace,
  { relative, rules }: Place,
  totals: WalkTotals,
): Promise<{ readonly found: readonly Found[]; readonly rules: IgnoreRules }> {
  const { root } = workspace;
  const entries = await readdir(join(root, relative), { withFileTypes: true }).catch(() => null);
  if (entries === null) {
    totals.unreadable += 1;
    return { found: [], rules };
  }
  const here = await rulesBelow(rules, root, relative, new Set(entries.map(({ name }) => name)));
  const found: Found[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = relative === '' ? entry.name : `${relative}/${entry.name}`;
    if (entry.name === '.git' || isDraftName(entry.name) || isHidden(workspace, join(root, path))) continue;
    if (isIgnored(here, path, entry.isDirectory())) totals.ignored += 1;
    else found.push({ relative: path, kind: kindOf(entry) });
  }
  return { found, rules: here };
}

/** A search that begins below the root is under the rules of the directories it passed by. */
async function rulesAbove(root: string, from: string): Promise<IgnoreRules> {
  let rules = NO_RULES;
  const parts = from === '' ? [] : from.split('/');
  for (let depth = 0; depth < parts.length; depth += 1) {
    const relative = parts.slice(0, depth).join('/');
    const names = await readdir(join(root, relative)).catch(() => []);
    rules = await rulesBelow(rules, root, relative, new Set(names));
  }
  return rules;
}

function kindOf(entry: Dirent): Found['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}
