import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sha, type TestWorkspace, testWorkspace } from '../../test/workspace.ts';
import { compareSnapshots } from './compare.ts';
import { takeSnapshot } from './snapshot.ts';
import { WorkspaceIndex } from './workspace-index.ts';

async function changesOf(workspace: TestWorkspace, change: () => void) {
  const before = await takeSnapshot(workspace, { index: null });
  change();
  const after = await takeSnapshot(workspace, { index: before, since: before });
  return compareSnapshots(before, after);
}

describe('what changed in a workspace', () => {
  test('files added, changed and deleted, with hashes of both sides', async () => {
    const made = testWorkspace({ 'a.txt': 'a', 'b.txt': 'b', 'dir/c.txt': 'c', same: 's' });
    const effects = await changesOf(made, () => {
      made.write('a.txt', 'A');
      rmSync(made.at('b.txt'));
      renameSync(made.at('dir/c.txt'), made.at('dir/d.txt'));
      made.write('new/e.txt', 'e');
    });
    expect(effects).toEqual({
      scope: 'complete',
      excluded: [],
      files: [
        { path: 'a.txt', change: 'changed', before: sha('a'), after: sha('A') },
        { path: 'b.txt', change: 'deleted', before: sha('b'), after: null },
        { path: 'dir/c.txt', change: 'deleted', before: sha('c'), after: null },
        { path: 'dir/d.txt', change: 'added', before: null, after: sha('c') },
        { path: 'new/e.txt', change: 'added', before: null, after: sha('e') },
      ],
    });
  });

  test('a touch, and the same content written again, are no change', async () => {
    const made = testWorkspace({ a: 'a', b: 'b' });
    const effects = await changesOf(made, () => {
      utimesSync(made.at('a'), new Date(), new Date(0));
      made.write('b', 'b');
    });
    expect(effects.files).toEqual([]);
  });

  test('same size, same time: the content tells', async () => {
    const made = testWorkspace({ a: 'aaaa' });
    const time = new Date(1_700_000_000_000);
    utimesSync(made.at('a'), time, time);
    const effects = await changesOf(made, () => {
      made.write('a', 'bbbb');
      utimesSync(made.at('a'), time, time);
    });
    expect(effects.files).toMatchObject([{ path: 'a', before: sha('aaaa'), after: sha('bbbb') }]);
  });

  test('a mode, a link’s target', async () => {
    const made = testWorkspace({ a: 'a' });
    symlinkSync('a', made.at('link'));
    const effects = await changesOf(made, () => {
      chmodSync(made.at('a'), 0o755);
      rmSync(made.at('link'));
      symlinkSync('b', made.at('link'));
    });
    expect(effects.files).toEqual([
      { path: 'a', change: 'changed', before: sha('a'), after: sha('a') },
      { path: 'link', change: 'changed', before: sha('link:a'), after: sha('link:b') },
    ]);
  });

  test('what is not looked into is named; a repository that is made is looked into', async () => {
    const made = testWorkspace({ '.git/HEAD': 'x', 'node_modules/m/index.js': '1', 'sub/.git': 'gitdir: x' });
    const before = await takeSnapshot(made, { index: null });
    expect(before.repositories.toSorted()).toEqual(['.git', 'sub/.git']);
    made.write('.git/HEAD', 'y');
    made.write('other/.git/hooks/pre-commit', 'evil');
    const effects = compareSnapshots(before, await takeSnapshot(made, { index: before, since: before }));
    expect(effects.files.map(({ path }) => path)).toEqual(['other/.git/hooks/pre-commit']);
    expect(effects.excluded).toEqual([
      '.git (internals of version control)',
      'node_modules (installed packages)',
    ]);
  });

  test('drafts of the house and what it hides are no effects', async () => {
    const made = testWorkspace({ a: 'a' });
    const hiding = { ...made, hidden: [made.at('state')] };
    const before = await takeSnapshot(hiding, { index: null });
    made.write('state/key', 'k');
    made.write('.interlock-call-1.tmp', 'half');
    const effects = compareSnapshots(before, await takeSnapshot(hiding, { index: before, since: before }));
    expect(effects.files).toEqual([]);
    expect(effects.excluded).toEqual(['files of the house']);
  });
});

test('the index reads again only what changed', async () => {
  const made = testWorkspace({});
  mkdirSync(made.at('dir'));
  for (let index = 0; index < 50; index += 1) made.write(`dir/${index}`, `content ${index}`);
  const index = new WorkspaceIndex();
  // Times must be old enough to be trusted.
  await new Promise((resolve) => setTimeout(resolve, 40));
  const first = await index.refresh(made);
  const second = await index.refresh(made);
  for (const [path, state] of second.files) expect(state).toBe(first.files.get(path));
  made.write('dir/7', 'other');
  const third = await index.refresh(made, second);
  const again = [...third.files]
    .filter(([path, state]) => state !== second.files.get(path))
    .map(([path]) => path);
  expect(again).toEqual(['dir/7']);
});
