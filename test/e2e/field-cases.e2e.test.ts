/**
 * Faults that others met in the field, told in our own words: sizes, ids and comparisons. Their numbers (FC-…) are those
 * of the collection they were taken from, which is not needed here.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ALL_EVENTS, isEvent, laneFilter, rpcSubject, sessionFilter } from '@interlock/contracts';
import {
  append,
  appendInbox,
  appendSettled,
  type Bus,
  callRpc,
  hashOf,
  newTraceparent,
  readMessages,
  readRange,
  sha256Hex,
  systemIds,
} from '@interlock/kit';
import {
  attachSession,
  finalText,
  openSession,
  type RuntimeContext,
  RuntimeRefusal,
} from '@interlock/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, dataOf, follow, openScripted, play } from '../harness/session.ts';
import { bash, intentsOf, turn, whenTold } from './lanes.ts';

let house: TestHouse;
let client: RuntimeContext;
let reader: Bus;
let workspace: string;
beforeAll(async () => {
  house = await startTestHouse({ env: { INTERLOCK_MAX_CHANGE_BYTES: String(4 * 1024 * 1024) } });
  [client, reader] = await Promise.all([house.client(), house.as('event-store')]);
  workspace = await house.workspace({});
});
afterAll(() => house?.stop());

/** Why the server closed connections, so far. */
async function closedBecause(): Promise<readonly string[]> {
  const { nats } = house.house;
  const reply = await fetch(`${nats?.monitorUrl}/connz?state=closed&limit=1000`);
  const { connections } = (await reply.json()) as { connections: { reason?: string }[] };
  return connections.flatMap(({ reason }) => reason ?? []);
}

describe('FC-136: arguments, outputs and messages above what one message may hold', () => {
  test('each has its complete chain, and no connection is lost', async () => {
    let reconnects = 0;
    client.bus.onReconnect(() => {
      reconnects += 1;
    });
    const content = '0123456789abcde\n'.repeat(196_608);
    const played = await play(client, {
      workspace,
      turns: [
        turn(
          { tool: 'write_file', input: { path: 'big.txt', content } },
          { tool: 'read_file', input: { path: 'big.txt' } },
          bash("head -c 3000000 /dev/zero | tr '\\0' a", { description: 'case' }),
        ),
        whenTold('0123456789abcde', { text: 'Big.' }),
        turn({ text: 'Long.' }),
      ],
    });
    expect(finalText(played.state)).toBe('Big.');
    for (const { types } of intentsOf(played))
      expect(types.slice(-2)).toEqual(['tool.execution.completed', 'tool.observation']);
    assertSound(played);
    expect(sha256Hex(await readFile(join(workspace, 'big.txt')))).toBe(sha256Hex(content));
    // The proposal is whole on record, though no message holds it.
    const proposed = dataOf(played, 'tool.intent').find(({ tool }) => tool === 'write_file');
    expect(hashOf(proposed?.rawInput)).toBe(hashOf({ path: 'big.txt', content }));
    const output = dataOf(played, 'tool.execution.completed')[2]?.output[0];
    expect((output?.omittedBytes ?? 0) + Buffer.byteLength(output?.text ?? '')).toBeGreaterThanOrEqual(
      3_000_000,
    );
    expect(output?.artifact).toMatch(/^artifact:/);

    const text = 'x'.repeat(2_000_000);
    const { seq } = await played.session.say(text);
    const after = await follow(played.session, seq, {});
    expect(finalText(after.state)).toBe('Long.');
    expect(dataOf(after, 'user.message')[1]?.text).toBe(text);
    assertSound(after);
    expect(reconnects).toBe(0);
    expect((await closedBecause()).filter((reason) => /payload/i.test(reason))).toEqual([]);
    const sizes = (await readMessages(reader, { filter: ALL_EVENTS, fromSeq: 1 })).map(
      ({ data }) => data.length,
    );
    expect(Math.max(...sizes)).toBeLessThan(1024 * 1024);
  });
});

describe('FC-137: headers count as well', () => {
  test.each([65_535, 65_536, 65_537, 524_288, 1_048_000, 1_048_400, 1_048_570, 1_048_576])(
    'a message of %i bytes, with a trace in its headers, is stored and read back',
    async (bytes) => {
      const session = await openScripted(client, {
        workspace,
        turns: [turn({ text: 'Read.' })],
      });
      const text = 'é'.repeat(bytes / 2).padEnd(Math.ceil(bytes / 2), 'x');
      const { seq } = await appendInbox(
        client.bus,
        client.writer,
        { tenant: client.tenant, session: session.id },
        { type: 'user.message', data: { text, person: client.person }, traceparent: newTraceparent() },
      );
      const played = await follow(session, seq, {});
      expect(finalText(played.state)).toBe('Read.');
      expect(dataOf(played, 'user.message')[0]?.text).toBe(text);
      assertSound(played);
    },
  );

  test.each([8, 9, 10, 17, 18, 30])(
    'arguments of %i strings, none of which is long, are whole again',
    async (count) => {
      const input = Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`part${at}`, `${at % 10}`.repeat(59_000)]),
      );
      const played = await play(client, {
        workspace,
        turns: [turn({ tool: 'frobnicate', input }), whenTold('unknown_tool', { text: 'No.' })],
      });
      expect(finalText(played.state)).toBe('No.');
      expect(hashOf(dataOf(played, 'tool.intent')[0]?.rawInput)).toBe(hashOf(input));
      assertSound(played);
    },
  );
});

describe('FC-141: a message id swallows what is sent under it again', () => {
  test('no event has one; one id in two sessions counts in both, a repeat in one session counts once', async () => {
    const id = systemIds.ulid();
    const sessions = await Promise.all(
      ['one', 'two'].map(() => openScripted(client, { workspace, turns: [turn({ text: 'Heard.' })] })),
    );
    const say = (session: string) =>
      appendInbox(
        client.bus,
        client.writer,
        { tenant: client.tenant, session },
        {
          type: 'user.message',
          id,
          data: { text: 'hello', person: client.person },
        },
      );
    for (const session of sessions) {
      const { seq } = await say(session.id);
      await say(session.id);
      const played = await follow(session, seq, {});
      expect(finalText(played.state)).toBe('Heard.');
    }
    for (const session of sessions) {
      const { lastRun, entries, pending } = await session.getState();
      expect({ lastRun, pending, kinds: entries.map(({ kind }) => kind) }).toMatchObject({
        ...{ lastRun: { number: 1, reason: 'completed' }, pending: [], kinds: ['user', 'assistant'] },
      });
    }
    const stored = await readMessages(reader, { filter: ALL_EVENTS, fromSeq: 1 });
    expect(stored.filter(({ headers }) => headers?.has('Nats-Msg-Id'))).toEqual([]);
  });

  test('an ask reaches whoever asks for it, as often as they like: it is read, not sent again', async () => {
    let seen: readonly unknown[] = [];
    const played = await play(client, {
      workspace,
      mode: 'normal',
      turns: [
        turn({ tool: 'write_file', input: { path: 'asked.txt', content: 'x' } }),
        turn({ text: 'Written.' }),
      ],
      onAsk: async ({ askedId }, { id }) => {
        for (const person of ['ada', 'bob', 'bob']) {
          const other = await house.client(person);
          const reply = await callRpc(other.bus, {
            subject: rpcSubject.query(other.tenant, 'approvals'),
            rpc: 'query.approvals',
            request: { session: id },
            timeoutMs: 10_000,
            unavailable: 'query_timeout',
          });
          seen = [...seen, ...(reply.ok ? reply.approvals.map((ask) => ask.askedId === askedId) : [])];
        }
        return { verdict: 'approve' };
      },
    });
    expect(seen).toEqual([true, true, true]);
    expect(dataOf(played, 'tool.approval.asked')).toHaveLength(1);
    assertSound(played);
  });
});

describe('FC-142: the comparison is with a sequence of the stream', () => {
  const ROUNDS = 50;
  const lane = (session: string) => ({ tenant: 'fc142', session, lane: 's' }) as const;

  test('of two writers one gets through, the other decides anew; writes elsewhere disturb nobody', async () => {
    const writers = await Promise.all(
      [1, 2].map(async () => ({ bus: await house.as('observer'), writer: await house.writer('observer') })),
    );
    let decisions = 0;
    const fill = async ({ bus, writer }: (typeof writers)[number]): Promise<void> => {
      for (let isFull = false; !isFull; ) {
        const settled = await appendSettled(bus, writer, lane('A'), (entries) => {
          decisions += 1;
          if (entries.length >= ROUNDS) return { stop: 'full' };
          return { draft: { type: 'run.started', data: { number: entries.length + 1 } } };
        });
        isFull = !settled.ok;
      }
    };
    const elsewhere = async (): Promise<void> => {
      const [bus, writer] = await Promise.all([house.as('observer'), house.writer('observer')]);
      let tail = { seq: 0, hash: '0'.repeat(64) };
      for (let number = 1; number <= ROUNDS; number++) {
        const appended = await append(bus, writer, lane('B'), tail, {
          type: 'run.started',
          data: { number },
        });
        if (!appended.ok) throw new Error('a conflict on a lane of one writer');
        tail = appended.tail;
      }
    };
    await Promise.all([...writers.map(fill), elsewhere()]);
    for (const session of ['A', 'B']) {
      const entries = await readRange(reader, {
        filter: laneFilter(lane(session)),
        fromSeq: 1,
        leader: true,
      });
      const numbers = entries.map((entry) => (isEvent(entry, 'run.started') ? entry.data.number : 0));
      expect(numbers).toEqual(Array.from({ length: ROUNDS }, (_, index) => index + 1));
    }
    // Both took part, so some decisions were made anew.
    expect(decisions).toBeGreaterThan(ROUNDS + 2);
  });
});

describe('FC-145: ids of sessions', () => {
  const open = (session: string) =>
    openSession(client, { session, workspace, model: { provider: 'scripted', model: 'm' } });

  test.each([
    ['*', 'invalid_id'],
    ['>', 'invalid_id'],
    ['a.b', 'invalid_id'],
    ['a b', 'invalid_id'],
    ['', 'invalid_id'],
    ['é', 'invalid_id'],
    ['x'.repeat(65), 'invalid_id'],
    ['../x', 'invalid_id'],
    ['$JS', 'invalid_id'],
    ['a\u0000', 'invalid_id'],
    ['a\r\nb', 'invalid_id'],
    ['sys', 'reserved_id'],
  ])('%j is refused: %s', async (session, code) => {
    for (const act of [open(session), attachSession(client, session)]) {
      const refusal = await act.catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(RuntimeRefusal);
      expect(refusal).toMatchObject({ code });
    }
  });

  test('A and a are two sessions, and neither sees the other', async () => {
    const [upper, lower] = [await open('A'), await open('a')];
    await upper.close('enough');
    expect((await upper.getState()).closed).toBe(true);
    expect((await lower.getState()).closed).toBe(false);
    const stored = await readMessages(reader, { filter: sessionFilter(client.tenant, 'a'), fromSeq: 1 });
    expect(stored).toHaveLength(1);
  });

  test('an id in use is refused, and the session of that name stays as it is', async () => {
    const first = await open('mine');
    const before = (await first.getState()).opened;
    await expect(open('mine')).rejects.toMatchObject({ code: 'session_exists' });
    expect((await first.getState()).opened).toEqual(before);
  });
});
