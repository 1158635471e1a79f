/** `docs/walkthrough.md` says what happens: its turn is played and compared, row by row. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEventSubject } from '@interlock/contracts';
import { finalText } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, play } from '../harness/session.ts';

const ROOT = join(import.meta.dirname, '..', '..');

interface Row {
  readonly event: string;
  readonly lane: string;
  readonly appendedBy: string;
}

/** The rows of the table `# | event | lane | appended by | decided in`. */
function rowsOf(page: string): readonly (Row & { readonly decidedIn: string })[] {
  return page.split('\n').flatMap((line) => {
    const [number, event, lane, appendedBy, decidedIn] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim().replaceAll('`', ''));
    if (!event || !lane || !appendedBy || !decidedIn || !/^\d+$/.test(number ?? '')) return [];
    return [{ event, lane, appendedBy, decidedIn }];
  });
}

/** `interlock/executor-fs/01J…` is an executor. */
function roleOf(source: unknown): string {
  const service = String(source).split('/')[1] ?? '';
  return service.startsWith('executor-') ? 'executor' : service;
}

let house: TestHouse;
let page: string;
beforeAll(async () => {
  page = await readFile(join(ROOT, 'docs', 'walkthrough.md'), 'utf8');
  house = await startTestHouse();
});
afterAll(() => house?.stop());

test('the log of the turn is what the table says', async () => {
  const script = await readFile(join(import.meta.dirname, 'walkthrough.script.json'), 'utf8');
  const workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
  const played = await play(await house.client(), {
    turns: JSON.parse(script).turns,
    workspace,
    mode: 'normal',
    task: 'What do the notes say?',
  });

  const rows = rowsOf(page);
  expect(rows.length).toBeGreaterThan(0);
  const stored = played.raw.map(({ event }): Row => {
    const lane = parseEventSubject(String(event.subject))?.lane ?? '';
    return { event: String(event.type), lane, appendedBy: roleOf(event.source) };
  });
  expect(stored).toEqual(rows.map(({ decidedIn: _file, ...row }) => row));
  expect(finalText(played.state)).toBe('The notes say: buy milk.');
  assertSound(played);
});

test('every file that the page names is there', () => {
  const named = [...page.matchAll(/`((?:contracts|kit|services|clients|test|docs|deploy)\/[\w./-]+\.\w+)`/g)];
  const files = new Set([
    ...named.map(([, file]) => file ?? ''),
    ...rowsOf(page).map(({ decidedIn }) => decidedIn),
  ]);
  expect([...files].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
