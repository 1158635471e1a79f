/** What does not belong into the log: put aside with a code, and the run goes on as if it were not there. */
import { callOf, eventSubject, isEvent, type LogEntry, type StoredEventOf } from '@interlock/contracts';
import { append, type Bus, type Writer } from '@interlock/kit';
import { finalText, type RuntimeContext, RuntimeRefusal, type Session } from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, openScripted, type Played, play, type ScriptPart } from '../harness/session.ts';
import { onlyIntentOf, turn } from './lanes.ts';
import { openQuarantine, type Quarantine } from './quarantine.ts';

let written = 0;
/** A call that writes a file which is not there yet. */
const writeNew = (): ScriptPart => ({
  tool: 'write_file',
  input: { path: `${++written}.txt`, content: 'written' },
});

let house: TestHouse;
let client: RuntimeContext;
let quarantine: Quarantine;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse();
  [client, quarantine] = await Promise.all([house.client(), openQuarantine(house)]);
  workspace = await house.workspace();
});
afterAll(() => house?.stop());

/** Stores bytes under a subject as a broker user, without any comparison. @returns the sequence */
async function store(user: string, subject: string, bytes: string | Uint8Array): Promise<number> {
  const bus = await house.as(user);
  const reply = (await bus.request(subject, bytes, { timeoutMs: 5000 })).json<{
    seq?: number;
    error?: unknown;
  }>();
  if (reply.seq === undefined) throw new Error(JSON.stringify(reply.error));
  return reply.seq;
}

/** Plays one write that a person is asked about; `meanwhile` is done before the person approves. */
function playAsked(meanwhile: (lane: OpenLane) => Promise<unknown>): Promise<Played> {
  let validated: LogEntry | undefined;
  return play(client, {
    workspace,
    mode: 'normal',
    turns: [turn(writeNew()), turn({ text: 'Written.' })],
    onEvent: (entry) => {
      if (entry.type === 'tool.validated') validated = entry;
    },
    onAsk: async ({ intent }, session) => {
      const call = callOf(await session.getState(), intent);
      if (!call || !validated || !isEvent(validated, 'tool.validated')) throw new Error('no open lane');
      await meanwhile({ intent, session, tail: call.tail, validated });
      return { verdict: 'approve' };
    },
  });
}

interface OpenLane {
  readonly intent: string;
  readonly session: Session;
  readonly tail: { readonly seq: number; readonly hash: string };
  readonly validated: StoredEventOf<'tool.validated'>;
}

/** `validator` may append `tool.validated` anywhere; here it goes mad. */
function madValidator(): Promise<[Bus, Writer]> {
  return Promise.all([house.as('validator'), house.writer('validator')]);
}

const subjectOf = ({ id }: Session, intent: string, type: string): string =>
  eventSubject({ tenant: client.tenant, session: id, lane: 'i', intent, type });

describe('on the lane of a call that waits for a person', () => {
  test('a step that does not follow', async () => {
    let stray = 0;
    const played = await playAsked(async ({ intent, session, tail, validated }) => {
      const [bus, writer] = await madValidator();
      const lane = { tenant: client.tenant, session: session.id, lane: 'i', intent } as const;
      const appended = await append(bus, writer, lane, tail, {
        type: 'tool.validated',
        data: validated.data,
      });
      stray = appended.ok ? appended.entry.seq : 0;
      expect(await quarantine.recordOf(stray)).toMatchObject({
        code: 'illegal_transition',
        intent,
        session: session.id,
      });
    });
    expect(finalText(played.state)).toBe('Written.');
    expect(onlyIntentOf(played).ending).toBe('success');
    await quarantine.assertSoundBut(played, [stray]);
  });

  test.each<[string, string, (stored: Record<string, unknown>) => string]>([
    ['a chain to nowhere', 'chain_broken', (stored) => JSON.stringify({ ...stored, prevseq: 1 })],
    ['bytes that are no JSON', 'unreadable_event', () => '\u0000\u0001 not json'],
    ['JSON that is no envelope', 'unreadable_event', () => '[1, 2, 3]'],
    [
      'an envelope of another place',
      'unreadable_event',
      (stored) => JSON.stringify({ ...stored, session: 'other' }),
    ],
    [
      'data that does not fit',
      'unreadable_event',
      (stored) => JSON.stringify({ ...stored, data: { tool: 7 } }),
    ],
    [
      'a version that is yet to come',
      'unknown_version',
      (stored) => JSON.stringify({ ...stored, dataschema: 'urn:interlock:tool.validated:v99' }),
    ],
    [
      'a reference to bytes that nobody stored',
      'artifact_unavailable',
      (stored) =>
        JSON.stringify({
          ...stored,
          data: {
            $spilled: ['/input'],
            input: { $artifact: `artifact://${'a'.repeat(64)}`, sizeBytes: 1, encoding: 'text' },
          },
        }),
    ],
  ])('%s', async (_what, code, bytesFrom) => {
    let stray = 0;
    const played = await playAsked(async ({ intent, session, validated }) => {
      const bytes = bytesFrom({ ...validated.envelope });
      stray = await store('validator', subjectOf(session, intent, 'tool.validated'), bytes);
      expect(await quarantine.recordOf(stray)).toMatchObject({ code, intent, session: session.id });
    });
    expect(finalText(played.state)).toBe('Written.');
    expect(onlyIntentOf(played).ending).toBe('success');
    await quarantine.assertSoundBut(played, [stray]);
  });
});

describe('in the journal and in the inbox', () => {
  test.each<[string, string, (session: Session, run: string) => Promise<number>]>([
    [
      'an end of the run that chains to nothing',
      'chain_broken',
      async ({ id }, run) => {
        const writer = await house.writer('observer');
        const type = 'run.finished';
        const subject = eventSubject({ tenant: client.tenant, session: id, lane: 's', type });
        const usage = { inputUncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: null };
        return await store(
          'observer',
          subject,
          JSON.stringify({
            ...{ specversion: '1.0', id: writer.ids.ulid(), type, source: 'interlock/observer/mad', subject },
            ...{ time: new Date().toISOString(), datacontenttype: 'application/json' },
            ...{ dataschema: `urn:interlock:${type}:v1`, tenant: client.tenant, session: id, run },
            ...{ correlationid: id, prevseq: 1, prevhash: '0'.repeat(64), nonce: writer.ids.nonce() },
            data: { reason: 'completed', turns: 1, usage, costUsd: null, throughSeq: 0 },
          }),
        );
      },
    ],
    [
      'bytes in the journal',
      'unreadable_event',
      ({ id }) => store('observer', `ev.v1.${client.tenant}.${id}.s.run.finished`, 'nonsense'),
    ],
    [
      'bytes in the inbox',
      'unreadable_event',
      ({ id }) => store('client', `ev.v1.${client.tenant}.${id}.u.user.message`, 'nonsense'),
    ],
  ])('%s', async (_what, code, strayed) => {
    let stray = 0;
    const played = await playAsked(async ({ session }) => {
      stray = await strayed(session, (await session.getState()).run?.id ?? '');
      expect(await quarantine.recordOf(stray)).toMatchObject({ code, session: session.id });
    });
    expect(finalText(played.state)).toBe('Written.');
    await quarantine.assertSoundBut(played, [stray]);
  });

  test('a word in a session that nobody opened starts nothing', async () => {
    const played = await playAsked(async () => undefined);
    const said = played.raw.find(({ event }) => event.type === 'user.message')?.event;
    const subject = `ev.v1.${client.tenant}.nobodys.u.user.message`;
    const event = { ...said, subject, session: 'nobodys', correlationid: 'nobodys' };
    const seq = await store('client', subject, JSON.stringify(event));
    expect(await quarantine.recordOf(seq)).toMatchObject({ code: 'illegal_transition', session: 'nobodys' });
  });
});

describe('at the door', () => {
  test('a subject with a wildcard for a session is no session', async () => {
    const seq = await store('client', `ev.v1.${client.tenant}.*.u.user.message`, '{}');
    const record = await quarantine.recordOf(seq);
    expect(record).toMatchObject({ code: 'unreadable_event' });
    expect(record.session).toBeUndefined();
  });

  test.each([
    ['an unknown layout of subjects', 'client', 'ev.v2.local.s1.u.user.message'],
    ['a type that this user does not append', 'client', 'ev.v1.local.s1.u.tool.answered'],
    ['a permit by a client', 'client', 'ev.v1.local.s1.i.i1.tool.approval.allowed.fs'],
    ['a fact of another pool', 'executor-fs', 'ev.v1.local.s1.i.i1.tool.execution.completed.shell'],
  ])('the broker refuses %s', async (_what, user, subject) => {
    await expect(store(user, subject, '{}')).rejects.toThrow(/[Pp]ermissions? [Vv]iolation/);
  });

  test('a payload over the limit is refused before it is sent', async () => {
    const tooLarge = new Uint8Array(1024 * 1024 + 1);
    const subject = `ev.v1.${client.tenant}.s1.u.user.message`;
    await expect(store('client', subject, tooLarge)).rejects.toThrow(/max_payload/i);
    const session = await openScripted(client, { turns: [], workspace });
    const refusal = await session.say('x'.repeat(9 * 1024 * 1024)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(RuntimeRefusal);
    expect(refusal).toMatchObject({ code: 'message_too_large', message: expect.stringContaining('8388608') });
  });
});

test('after all of this every service is up, and a run is a run', async () => {
  expect(Object.entries(await house.house.health()).filter(([, ready]) => !ready)).toEqual([]);
  const played = await playAsked(async () => undefined);
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  assertSound(played);
});
