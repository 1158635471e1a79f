/** Asking people: for as long as they take, whoever restarts meanwhile, and however many of them answer. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOUSE_TENANT, laneFilter, SYSTEM_SESSION } from '@interlock/contracts';
import { appendInbox, type Bus, readRange } from '@interlock/kit';
import { attachSession, finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import {
  type Ask,
  assertSound,
  dataOf,
  follow,
  type Played,
  type PlayOptions,
  play,
  type ScriptPart,
} from '../harness/session.ts';
import { consumersOf, isIdle } from './consumers.ts';
import { intentsOf, onlyIntentOf, turn, whenTold } from './lanes.ts';

const MANAGED = 'version: 1\nrules: []\n';
const ONLY_BOB = `version: 1
rules:
  - { id: only-bob, decision: ask, reason: Bob owns it., when: { tool: write_file }, approvers: [bob] }
`;
const ONE_SECOND = `version: 1
rules:
  - { id: quick, decision: ask, reason: Quickly., when: { tool: write_file }, expires: 1s }
`;

let house: TestHouse;
let ada: RuntimeContext;
let bob: RuntimeContext;
let folder: string;
let managedFile: string;
let reader: Bus;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-managed-'));
  managedFile = join(folder, 'managed.yaml');
  await writeFile(managedFile, MANAGED);
  house = await startTestHouse({
    mode: 'processes',
    serviceEnv: {
      'policy-engine': { INTERLOCK_MANAGED_POLICY: managedFile, INTERLOCK_POLICY_POLL_MS: '50' },
    },
  });
  [ada, bob, reader] = await Promise.all([house.client('ada'), house.client('bob'), house.as('event-store')]);
});
afterAll(async () => {
  await house?.stop();
  await rm(folder, { recursive: true, force: true });
});

const write = (content: string): ScriptPart => ({ tool: 'write_file', input: { path: 'x.txt', content } });

interface Opened extends Played {
  readonly ask: Ask;
  readonly messageSeq: number;
  readonly path: string;
}

/** Plays until a person is asked, and leaves the ask open. */
async function untilAsked(content: string, more: Partial<PlayOptions> = {}): Promise<Opened> {
  const path = await house.workspace({});
  let found: Ask | undefined;
  const played = await play(ada, {
    workspace: path,
    mode: 'normal',
    turns: [turn(write(content)), whenTold('.', { text: 'I see.' }), turn({ text: 'I see.' })],
    onAsk: (ask) => {
      found = ask;
      return null;
    },
    until: ({ status }) => status === 'waiting_for_approval',
    ...more,
  });
  const messageSeq = played.entries.find(({ type }) => type === 'user.message')?.seq ?? 0;
  if (!found) throw new Error('nobody was asked');
  return { ...played, ask: found, messageSeq, path };
}

/** Follows the run to its end. New asks are left open, unless `onAsk` says otherwise. */
async function toTheEnd({ session, messageSeq }: Opened, more: Partial<PlayOptions> = {}): Promise<Played> {
  const played = await follow(session, messageSeq, { onAsk: () => null, ...more });
  assertSound(played);
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(finalText(played.state)).toBe('I see.');
  return played;
}

const contentOf = (path: string): Promise<string> =>
  readFile(join(path, 'x.txt'), 'utf8').catch(() => '(nothing)');

test('while a person is waited for, nobody holds a delivery; an answer after every service was restarted counts', async () => {
  const opened = await untilAsked('approved later');
  const operator = await house.as('operator');
  const busy = async () => (await consumersOf(operator)).filter((consumer) => !isIdle(consumer));
  await expect.poll(busy, { timeout: 20_000 }).toEqual([]);
  const stored = (await opened.session.getState()).throughSeq;

  const before = house.house.pids();
  await Promise.all(Object.keys(before).map((service) => house.house.restart(service)));
  await expect
    .poll(async () => Object.values(await house.house.health()).every(Boolean), { timeout: 60_000 })
    .toBe(true);
  expect(Object.values(house.house.pids()).some((pid) => Object.values(before).includes(pid))).toBe(false);
  // The wait is a matter of the log alone: the restart has added nothing to it.
  expect((await opened.session.getState()).throughSeq).toBe(stored);

  await opened.session.answer(opened.ask, { verdict: 'approve' });
  const played = await toTheEnd(opened);
  expect(onlyIntentOf(played).types).toEqual([
    'tool.intent',
    'tool.validated',
    'tool.approval.asked',
    'tool.approval.allowed',
    'tool.execution.started',
    'tool.execution.completed',
    'tool.observation',
  ]);
  expect(dataOf(played, 'tool.approval.allowed')[0]?.by).toMatchObject({ kind: 'answer', person: 'ada' });
  expect(await contentOf(opened.path)).toBe('approved later');
});

describe('one person', () => {
  test('rejects, with a word that the model is told', async () => {
    const opened = await untilAsked('rejected');
    await opened.session.answer(opened.ask, { verdict: 'reject', comment: 'wrong file' });
    const played = await toTheEnd(opened);
    expect(onlyIntentOf(played)).toMatchObject({ ending: 'denied' });
    expect(onlyIntentOf(played).told).toContain('wrong file');
    expect(await contentOf(opened.path)).toBe('(nothing)');
  });

  test('edits and is gone: the edited call stands in the place of the old one', async () => {
    const opened = await untilAsked('as proposed');
    const other = await house.client('ada');
    const session = await attachSession(other, opened.session.id);
    await session.answer(opened.ask, { verdict: 'edit', input: { path: 'x.txt', content: 'as edited' } });
    await other.bus.nc.close();

    const played = await toTheEnd(opened);
    const [old, edited] = intentsOf(played);
    expect(old?.types).toEqual([
      'tool.intent',
      'tool.validated',
      'tool.approval.asked',
      'tool.approval.denied',
      'tool.observation',
    ]);
    expect(dataOf(played, 'tool.approval.denied')[0]).toMatchObject({
      kind: 'superseded',
      by: edited?.intent,
    });
    expect(edited?.types).toEqual([
      'tool.intent',
      'tool.validated',
      'tool.approval.allowed',
      'tool.execution.started',
      'tool.execution.completed',
      'tool.observation',
    ]);
    expect(old?.told).toContain('as edited');
    expect(await contentOf(opened.path)).toBe('as edited');
  });

  test('an answer to another ask counts for nothing', async () => {
    const opened = await untilAsked('approved');
    const { session, ask } = opened;
    await session.answer({ ...ask, askedId: '01M8QDS8SW03HX7KF36X23AP22' }, { verdict: 'approve' });
    await session.answer({ ...ask, bindingSha256: 'f'.repeat(64) }, { verdict: 'approve' });
    await session.answer(ask, { verdict: 'reject' });
    const played = await toTheEnd(opened);
    expect(onlyIntentOf(played).types).not.toContain('tool.approval.allowed');
    expect(await contentOf(opened.path)).toBe('(nothing)');
  });
});

describe('two people', () => {
  test.each(['approve', 'reject'] as const)('the first to %s is heard, the other is not', async (first) => {
    const opened = await untilAsked('two answers');
    const others = await attachSession(bob, opened.session.id);
    await opened.session.answer(opened.ask, { verdict: first });
    await others.answer(opened.ask, { verdict: first === 'approve' ? 'reject' : 'approve' });
    await toTheEnd(opened);
    expect(await contentOf(opened.path)).toBe(first === 'approve' ? 'two answers' : '(nothing)');
  });

  test('at the same moment: one of them is heard', async () => {
    const opened = await untilAsked('two answers');
    const others = await attachSession(bob, opened.session.id);
    await Promise.all([
      opened.session.answer(opened.ask, { verdict: 'approve' }),
      others.answer(opened.ask, { verdict: 'reject' }),
    ]);
    const played = await toTheEnd(opened);
    const [heard] = dataOf(played, 'tool.answer');
    expect(await contentOf(opened.path)).toBe(heard?.verdict === 'approve' ? 'two answers' : '(nothing)');
  });

  test('only whom the rule names is heard', async () => {
    const opened = await untilAsked('by bob', { userPolicy: ONLY_BOB });
    await opened.session.answer(opened.ask, { verdict: 'reject', comment: 'not mine to say' });
    await (await attachSession(bob, opened.session.id)).answer(opened.ask, { verdict: 'approve' });
    const played = await toTheEnd(opened);
    expect(dataOf(played, 'tool.approval.allowed')[0]?.by).toMatchObject({ kind: 'answer', person: 'bob' });
    expect(await contentOf(opened.path)).toBe('by bob');
  });

  test('nobody answers in the name of another', async () => {
    const opened = await untilAsked('by bob', { userPolicy: ONLY_BOB });
    const { intent, askedId, bindingSha256 } = opened.ask;
    // Ada's connection and key, Bob's name.
    const data = { intent, askedId, bindingSha256, person: 'bob', verdict: 'approve' } as const;
    const place = { tenant: ada.tenant, session: opened.session.id };
    await appendInbox(ada.bus, ada.writer, place, { type: 'tool.answer', data });
    await (await attachSession(bob, opened.session.id)).answer(opened.ask, { verdict: 'reject' });
    const played = await toTheEnd(opened);
    expect(dataOf(played, 'tool.approval.denied')[0]).toMatchObject({ kind: 'rejected', person: 'bob' });
    expect(await contentOf(opened.path)).toBe('(nothing)');
  });
});

test('an expiry and an answer at the same moment: one of them decides', async () => {
  const endings = await Promise.all(
    [-150, -60, -20, 0, 20].map(async (offsetMs) => {
      const opened = await untilAsked('just in time', { userPolicy: ONE_SECOND });
      const moment = Date.parse(opened.ask.expiresAt) + offsetMs;
      await new Promise((resolve) => setTimeout(resolve, moment - Date.now()));
      await opened.session.answer(opened.ask, { verdict: 'approve' });
      const { types } = onlyIntentOf(await toTheEnd(opened));
      const ran = (await contentOf(opened.path)) === 'just in time';
      return { ran, said: types.includes('tool.approval.allowed') };
    }),
  );
  for (const { ran, said } of endings) expect(ran).toBe(said);
});

test('the policy changes while an ask is open: the answer is void and a person is asked again', async () => {
  const opened = await untilAsked('under the new policy');
  await writeFile(
    managedFile,
    `${MANAGED.replace('[]', '')}  - { id: new, decision: ask, reason: New., when: { tool: write_file } }\n`,
  );
  const filter = laneFilter({ tenant: HOUSE_TENANT, session: SYSTEM_SESSION, lane: 'sys' });
  await expect
    .poll(
      async () =>
        (await readRange(reader, { filter, fromSeq: 1, leader: true })).filter(
          ({ type }) => type === 'policy.activated',
        ).length,
      { timeout: 20_000 },
    )
    .toBe(2);

  await opened.session.answer(opened.ask, { verdict: 'approve' });
  const again: Ask[] = [];
  const played = await toTheEnd(opened, {
    onAsk: (ask) => {
      if (ask.askedId === opened.ask.askedId) return null;
      again.push(ask);
      return { verdict: 'approve' };
    },
  });
  expect(again).toHaveLength(1);
  const asked = dataOf(played, 'tool.approval.asked');
  expect(asked[1]?.voided?.why).toContain('the policy');
  expect(asked[1]?.verdicts.flatMap(({ winner }) => winner?.rule ?? [])).toContain('new');
  expect(await contentOf(opened.path)).toBe('under the new policy');
});

test('a file changes while an ask is open: what was approved is not what would run', async () => {
  const opened = await untilAsked('over what is there now');
  await writeFile(join(opened.path, 'x.txt'), 'somebody else was here');
  await opened.session.answer(opened.ask, { verdict: 'approve' });
  const played = await toTheEnd(opened);
  expect(onlyIntentOf(played).types).not.toContain('tool.execution.started');
  expect(await contentOf(opened.path)).toBe('somebody else was here');
});
