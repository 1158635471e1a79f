/** A cancel, or a word of the person, at each moment of a run: nothing is left open, nothing is lost. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { LogEntry } from '@interlock/contracts';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import {
  assertSound,
  dataOf,
  follow,
  openScripted,
  play,
  type ScriptPart,
  typesOf,
} from '../harness/session.ts';
import { bash, intentsOf, turn, whenTold } from './lanes.ts';
import { answerAndVanish } from './played-gateway.ts';

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
  workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
});
afterAll(() => house?.stop());

const READ_NOTES: ScriptPart = { tool: 'read_file', input: { path: 'notes.txt' } };
const TALK = 'one two three four five six seven eight';

/** Acts once, when the first event of a type is stored. */
function once(
  type: LogEntry['type'],
  act: (session: Session) => Promise<unknown>,
): (entry: LogEntry, session: Session) => Promise<void> {
  let done = false;
  return async (entry, session) => {
    if (entry.type !== type || done) return;
    done = true;
    await act(session);
  };
}
type Session = Parameters<NonNullable<Parameters<typeof play>[1]['onEvent']>>[1];

/** Ids of the processes that have this word on their command line. */
function processesWith(word: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
      } catch {
        return false;
      }
    });
}

/** Texts of the conversation in the order in which the model gets them. */
function conversationOf({ entries }: { entries: readonly { kind: string }[] }): readonly string[] {
  return entries.map(({ kind }) => kind);
}

describe('cancelled', () => {
  test('while the model streams: it says no more, and none of its calls is made', async () => {
    const played = await play(client, {
      workspace,
      turns: [{ parts: [{ text: TALK }, READ_NOTES], delayMs: 120_000 }, turn({ text: 'never' })],
      onEvent: once('model.attempt.started', (session) => session.cancel('enough')),
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'cancelled' });
    expect(dataOf(played, 'model.failed')).toMatchObject([{ category: 'model_cancelled' }]);
    expect(intentsOf(played)).toEqual([]);
    assertSound(played);
  });

  test('after some text was shown: what was said is on record', async () => {
    const session = await openScripted(client, {
      workspace,
      turns: [{ parts: [{ text: TALK }], delayMs: 2500 }],
    });
    let shown = '';
    for await (const output of session.send('talk')) {
      if (output.type !== 'text.delta') continue;
      if (shown === '') await session.cancel('enough');
      shown += output.text;
    }
    const entries: LogEntry[] = [];
    for await (const { entry } of session.getEvents()) entries.push(entry);
    expect((await session.getState()).lastRun).toMatchObject({ reason: 'cancelled' });
    const [failed] = dataOf({ entries }, 'model.failed');
    expect(failed).toMatchObject({ category: 'model_cancelled' });
    expect(failed?.partial).toMatch(/^one two/);
    expect(failed?.partial.startsWith(shown)).toBe(true);
    expect(TALK.startsWith(failed?.partial ?? '?')).toBe(true);
  });

  test('before the intents are derived: the cancel is the first event of their lanes', async () => {
    const calls = [
      { intent: `read-${randomUUID()}`, tool: 'read_file', input: { path: 'notes.txt' } },
      { intent: `bash-${randomUUID()}`, tool: 'bash', input: { command: 'touch never.txt' } },
    ];
    const played = await play(client, {
      workspace,
      // The house's own gateway is at a slow answer meanwhile, and stays at it.
      turns: [{ parts: [{ text: 'slow' }], delayMs: 120_000 }],
      onEvent: once('model.attempt.started', async (session) => {
        await answerAndVanish(house, client, session.id, calls);
        await session.cancel('enough');
      }),
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'cancelled' });
    const types = ['tool.cancelled', 'tool.observation'];
    expect(intentsOf(played).map((one) => ({ intent: one.intent, types: one.types }))).toEqual(
      calls.map(({ intent }) => ({ intent, types })),
    );
    assertSound(played);
  });

  test('while a command runs: its whole process tree is gone, and every open call is observed', async () => {
    const mark = `4${Date.now()}`;
    const played = await play(client, {
      workspace,
      turns: [
        turn(bash(`sleep ${mark} & (sleep ${mark} & sleep ${mark}); sleep ${mark}`), bash('touch never.txt')),
        whenTold('aborted[\\s\\S]*cancelled', { text: 'I stop, then.' }),
      ],
      onEvent: once('tool.execution.started', async (session) => {
        await expect
          .poll(() => processesWith(`sleep\0${mark}`).length, { timeout: 30_000 })
          .toBeGreaterThan(2);
        await session.cancel('enough');
      }),
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'cancelled' });
    expect(dataOf(played, 'tool.execution.completed')).toMatchObject([
      { outcome: 'failed', code: 'aborted' },
    ]);
    expect(intentsOf(played).map(({ types }) => types.slice(-2))).toEqual([
      ['tool.execution.completed', 'tool.observation'],
      ['tool.cancelled', 'tool.observation'],
    ]);
    expect(processesWith(`sleep\0${mark}`)).toEqual([]);
    assertSound(played);

    const { seq } = await played.session.say('well?');
    const after = await follow(played.session, seq, {});
    expect(finalText(after.state)).toBe('I stop, then.');
    assertSound(after);
  });

  test('a cancel when nothing runs changes nothing', async () => {
    const played = await play(client, {
      workspace,
      turns: [turn({ text: 'a' }), turn({ text: 'b' })],
    });
    await played.session.cancel('nothing');
    const { seq } = await played.session.say('go on');
    const after = await follow(played.session, seq, {});
    expect(after.state.lastRun).toMatchObject({ reason: 'completed', number: 2 });
    expect(finalText(after.state)).toBe('b');
    assertSound(after);
  });

  test('twice, and together with a message: the message starts the next run', async () => {
    const played = await play(client, {
      workspace,
      turns: [{ parts: [{ text: TALK }], delayMs: 120_000 }, turn({ text: 'Here.' })],
      onEvent: once('model.attempt.started', async (session) => {
        await session.cancel('enough');
        await session.cancel('enough, I said');
        await session.say('do something else');
      }),
    });
    expect(dataOf(played, 'run.finished').map(({ reason }) => reason)).toEqual(['cancelled', 'completed']);
    assertSound(played);
  });
});

describe('a message of the person', () => {
  test('while the model streams a call: it joins the next turn of the run', async () => {
    const played = await play(client, {
      workspace,
      turns: [{ ...turn(READ_NOTES), delayMs: 400 }, whenTold('milk', { text: 'Milk, and briefly.' })],
      onEvent: once('model.attempt.started', (session) => session.say('be brief')),
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'completed', number: 1 });
    expect(conversationOf(played.state)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const [first, second] = dataOf(played, 'model.requested').map(({ throughSeq }) => throughSeq);
    const said = played.entries.findLast(({ type }) => type === 'user.message')?.seq ?? 0;
    expect(said).toBeGreaterThan(first ?? 0);
    expect(said).toBeLessThanOrEqual(second ?? 0);
    assertSound(played);
  });

  test('while a command runs: likewise', async () => {
    const played = await play(client, {
      workspace,
      turns: [turn(bash('sleep 1; cat notes.txt')), whenTold('milk', { text: 'Milk, and briefly.' })],
      onEvent: once('tool.execution.started', (session) => session.say('be brief')),
    });
    expect(played.state.lastRun).toMatchObject({ reason: 'completed', number: 1 });
    expect(conversationOf(played.state)).toEqual(['user', 'assistant', 'user', 'assistant']);
    assertSound(played);
  });

  test('while the model streams its last words: it starts the next run', async () => {
    const played = await play(client, {
      workspace,
      turns: [{ ...turn({ text: 'Done.' }), delayMs: 400 }, turn({ text: 'Done as well.' })],
      onEvent: once('model.attempt.started', (session) => session.say('one more thing')),
    });
    expect(typesOf(played).filter((type) => type.startsWith('run.'))).toEqual([
      'run.started',
      'run.finished',
      'run.started',
      'run.finished',
    ]);
    expect(finalText(played.state)).toBe('Done as well.');
    expect(conversationOf(played.state)).toEqual(['user', 'assistant', 'user', 'assistant']);
    assertSound(played);
  });

  test('at the very moment of the last words: it is answered, whichever is stored first', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 8 }, async () => {
        let said = 0;
        const { session } = await play(client, {
          workspace,
          turns: [turn({ text: 'Done.' }), turn({ text: 'Done as well.' })],
          onEvent: once('model.message', async (own) => {
            said = (await own.say('one more thing')).seq;
          }),
        });
        return await follow(session, said, {});
      }),
    );
    for (const played of sessions) {
      expect(dataOf(played, 'run.finished').map(({ reason }) => reason)).toEqual(['completed', 'completed']);
      expect(finalText(played.state)).toBe('Done as well.');
      assertSound(played);
    }
  });
});
