/** The state of a session is a fold of its log and of nothing else: the same bytes at any time, wherever it is folded. */
import { type ConversationState, fold, initialState, type LogEntry, rpcSubject } from '@interlock/contracts';
import { callRpc, canonicalJson } from '@interlock/kit';
import type { RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, follow, type Played, play } from '../harness/session.ts';
import { bash, turn, whenTold } from './lanes.ts';

let house: TestHouse;
let client: RuntimeContext;
let workspace: string;
let played: Played;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
  workspace = await house.workspace({ 'notes.txt': 'buy milk\n' });
  played = await play(client, {
    workspace,
    mode: 'normal',
    turns: [
      turn(
        { text: 'Let me see.' },
        { tool: 'read_file', input: { path: 'notes.txt' } },
        { tool: 'read_file', rawInput: '{' },
        { tool: 'edit_file', input: { path: 'notes.txt', oldText: 'milk', newText: 'tea' } },
        bash('cat notes.txt'),
      ),
      whenTold('tea', { text: 'Tea it is.' }),
      turn({ text: 'Nothing else.' }),
    ],
  });
  assertSound(played);
});
afterAll(() => house?.stop());

async function queryState(at?: number): Promise<{ throughSeq: number; bytes: string }> {
  const reply = await callRpc(client.bus, {
    subject: rpcSubject.query(client.tenant, 'state'),
    rpc: 'query.state',
    request: { session: played.session.id, ...(at === undefined ? {} : { at }) },
    timeoutMs: 20_000,
    unavailable: 'query_timeout',
  });
  if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`);
  return { throughSeq: reply.throughSeq, bytes: canonicalJson(reply.state) };
}

const foldOf = (entries: readonly LogEntry[]): ConversationState =>
  fold(initialState(client.tenant, played.session.id), entries);
const bytesOf = (state: ConversationState): string => canonicalJson(state);

test('a client that folds the events has the very state that the event-store tells', async () => {
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect((await queryState()).bytes).toBe(bytesOf(played.state));
  expect(bytesOf(foldOf(played.entries))).toBe(bytesOf(played.state));
});

test('the state at a sequence is the fold of what was stored until then', async () => {
  for (const [index, { seq }] of played.entries.entries()) {
    const prefix = foldOf(played.entries.slice(0, index + 1));
    expect(await queryState(seq)).toEqual({ throughSeq: seq, bytes: bytesOf(prefix) });
  }
});

test('after a restart of everything it is the same, byte for byte, and goes on from there', async () => {
  const before = await queryState();
  await house.restartAll();
  await expect.poll(() => client.bus.connected(), { timeout: 20_000 }).toBe(true);
  expect(await queryState()).toEqual(before);
  for (const { seq } of played.entries.filter((_, index) => index % 7 === 0)) {
    const prefix = played.entries.filter((entry) => entry.seq <= seq);
    expect((await queryState(seq)).bytes).toBe(bytesOf(foldOf(prefix)));
  }

  const { seq } = await played.session.say('anything else?');
  const after = await follow(played.session, seq, {});
  expect(after.state.lastRun).toMatchObject({ reason: 'completed', number: 2 });
  expect(after.raw.slice(0, played.raw.length)).toEqual(played.raw);
  expect((await queryState()).bytes).toBe(bytesOf(after.state));
  assertSound(after);
});
