import {
  controlSubject,
  type EventInput,
  liveSubject,
  type ModelPart,
  type StoredEventOf,
} from '@interlock/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Session, startHouse, TENANT, type TestHouse, typesFrom, until } from '../test/house.ts';

const SCRIPTED = { provider: 'scripted', model: 'script-1' };
const call = (path: string): object => ({
  tool: 'read_file',
  input: { path },
  reason: 'to know',
  expect: 'text',
});

let house: TestHouse;
beforeAll(async () => {
  house = await startHouse(1000);
});
afterAll(() => house.stop());

const scripted = (...turns: unknown[]): Promise<Session> => house.session(SCRIPTED, { turns });

/** Ids of the calls of a message. */
function callsOf(message: StoredEventOf<'model.message'> | undefined): string[] {
  return (
    message?.data.parts.flatMap((part: ModelPart) => (part.type === 'tool_call' ? [part.intent] : [])) ?? []
  );
}

/** The failure of the request that is made. */
async function failureOf(
  session: Session,
  ...asked: Parameters<Session['ask']>
): Promise<StoredEventOf<'model.failed'>> {
  await session.ask(...asked);
  const [failed] = await session.until('model.failed');
  if (!failed) throw new Error('no failure');
  return failed;
}

describe('no call is made', () => {
  test('for a run that was cancelled before', async () => {
    await house.gateway();
    const session = await scripted({ parts: [{ text: 'never' }] });
    await session.cancel();
    const failed = await failureOf(session);
    expect(failed.data).toMatchObject({ category: 'model_cancelled', attempts: 0, partial: '', usage: null });
    expect(await session.of('model.attempt.started')).toEqual([]);
  });

  test('for another context than the log holds', async () => {
    const session = await scripted({ parts: [{ text: 'never' }] });
    const failed = await failureOf(session, { contextSnapshotId: 'e'.repeat(64) });
    expect(failed.data).toMatchObject({ category: 'context_mismatch', attempts: 0 });
    expect(await session.of('model.attempt.started')).toEqual([]);
  });

  test('for a provider that has no key here', async () => {
    const session = await house.session({ provider: 'anthropic', model: 'claude-x' });
    expect((await failureOf(session)).data).toMatchObject({ category: 'model_not_found', attempts: 0 });
  });

  test('for a projection of another version, which is left to another replica', async () => {
    const left = await scripted({ parts: [{ text: 'never' }] });
    await left.ask({ projection: 'p99' });
    const other = await scripted({ parts: [{ text: 'hello' }] });
    await other.ask();
    await other.until('model.message');
    expect(typesFrom(await left.events(), 'model.requested')).toEqual(['model.requested']);
  });
});

describe('a script that cannot answer fails the request', () => {
  test('when no turn fits', async () => {
    const session = await scripted({ when: { turn: 7 }, parts: [{ text: 'never' }] });
    expect((await failureOf(session)).data).toMatchObject({
      category: 'script_no_match',
      attempts: 1,
      scriptUnused: [0],
      message: expect.stringContaining('turns[0] waits for turn 7'),
    });
  });
  test('when it is wrong', async () => {
    const session = await house.session(SCRIPTED, { turns: [{ parts: [{ tool: 1 }] }] });
    expect((await failureOf(session)).data).toMatchObject({
      category: 'script_invalid',
      message: expect.stringContaining('turns[0].parts[0].tool'),
    });
  });
  test('when there is none', async () => {
    const session = await house.session(SCRIPTED);
    expect((await failureOf(session)).data).toMatchObject({ category: 'script_invalid' });
  });
});

describe('a request is answered', () => {
  test('the attempt before the call, the message before its intents, and each names its cause', async () => {
    const session = await scripted(
      { parts: [{ text: 'Reading.' }, call('a'), call('b')], usage: { input_uncached: 9, output: 3 } },
      { parts: [{ text: 'spare' }] },
    );
    const requested = await session.ask();
    const intents = await session.until('tool.intent', 2);
    expect(typesFrom(await session.events(), 'model.requested')).toEqual([
      'model.requested',
      'model.attempt.started',
      'model.message',
      'tool.intent',
      'tool.intent',
    ]);
    const [started] = await session.of('model.attempt.started');
    const [message] = await session.of('model.message');
    expect(started?.data).toMatchObject({ attempt: 1, provider: 'scripted', model: 'script-1' });
    expect(started?.envelope.causationid).toBe(requested.envelope.id);
    expect(message?.data).toMatchObject({
      attempt: 1,
      provider: 'scripted',
      model: 'script-1',
      contextSnapshotId: requested.data.contextSnapshotId,
      stop: 'tool_calls',
      usage: { inputUncached: 9, cacheRead: 0, cacheWrite: 0, output: 3, reasoning: null },
      costUsd: null,
      scriptUnused: [1],
    });
    expect(message?.envelope).toMatchObject({
      run: requested.envelope.run,
      turn: 1,
      causationid: requested.envelope.id,
    });
    expect(new Set(intents.map(({ envelope }) => envelope.intent))).toEqual(new Set(callsOf(message)));
    for (const { data, envelope } of intents) {
      expect(data).toMatchObject({
        tool: 'read_file',
        inputFormat: 'json',
        reason: 'to know',
        expect: 'text',
        proposer: 'model',
        contextSnapshotId: requested.data.contextSnapshotId,
      });
      expect(envelope).toMatchObject({ causationid: message?.envelope.id, turn: 1, prevseq: 0 });
    }
  });

  test('broken arguments become an intent with their text; calls of a cut answer none', async () => {
    const session = await scripted(
      { parts: [{ tool: 'bash', rawInput: '{"command": ' }] },
      { parts: [{ tool: 'bash', input: {} }], stop: 'max_tokens' },
    );
    await session.ask();
    const [intent] = await session.until('tool.intent');
    expect(intent?.data).toMatchObject({ rawInput: '{"command": ', inputFormat: 'text' });
    const intents = callsOf((await session.of('model.message'))[0]);
    await session.append('tool.cancelled', { reason: 'run_cancelled' }, intents[0]);
    await session.append('tool.observation', observed('never ran'), intents[0]);
    await session.ask();
    const messages = await session.until('model.message', 2);
    expect(messages[1]?.data).toMatchObject({
      stop: 'max_tokens',
      parts: [{ type: 'rejected_call', raw: '{}' }],
    });
    expect(await session.of('tool.intent')).toHaveLength(1);
  });

  test('with its text on the live subject, apart from the log', async () => {
    const session = await scripted({ parts: [{ text: 'abcdefgh' }], delayMs: 20 });
    const chunks: { text: string; index: number; attempt: number }[] = [];
    const subscription = house.bus.nc.subscribe(liveSubject.session(TENANT, session.id), {
      callback: (_error, message) => {
        chunks.push(message.json());
      },
    });
    await house.bus.nc.flush();
    await session.ask();
    await session.until('model.message');
    await house.bus.nc.flush();
    await until(() => chunks.map(({ text }) => text).join('') === 'abcdefgh');
    expect(chunks.map(({ index }) => index)).toEqual(chunks.map((_, index) => index));
    expect(chunks[0]).toMatchObject({ kind: 'text', attempt: 1 });
    subscription.unsubscribe();
  });

  test('turn by turn, also by what was observed, and the unused turns are reported', async () => {
    const session = await scripted(
      { when: { observation_matches: 'milk' }, parts: [{ text: 'found' }] },
      { when: { turn: 1 }, parts: [call('notes')] },
      { when: { turn: 99 }, parts: [] },
    );
    await session.ask();
    const [intent] = await session.until('tool.intent');
    await session.append('tool.cancelled', { reason: 'run_cancelled' }, intent?.envelope.intent);
    await session.append('tool.observation', observed('buy milk'), intent?.envelope.intent);
    await session.ask();
    const [first, second] = await session.until('model.message', 2);
    expect(first?.data.scriptUnused).toEqual([0, 2]);
    expect(second?.data).toMatchObject({ parts: [{ text: 'found' }], scriptUnused: [2] });
  });
});

function observed(text: string): EventInput<'tool.observation'> {
  return {
    tool: 'read_file',
    ending: 'cancelled',
    isError: true,
    parts: [{ label: 'fact', text }],
    omittedBytes: 0,
    artifacts: [],
  };
}

describe('an attempt that fails', () => {
  test('is followed by another after a wait that is an event; each uses a turn of the script', async () => {
    const session = await scripted(
      { error: { category: 'overloaded', retryAfterMs: 30 } },
      { parts: [{ text: 'half and half' }], cut: true },
      { parts: [{ text: 'whole' }] },
      { parts: [{ text: 'spare' }] },
    );
    await session.ask();
    const [message] = await session.until('model.message');
    expect(typesFrom(await session.events(), 'model.requested')).toEqual([
      'model.requested',
      'model.attempt.started',
      'model.retrying',
      'model.attempt.started',
      'model.retrying',
      'model.attempt.started',
      'model.message',
    ]);
    const retrying = await session.of('model.retrying');
    expect(retrying.map(({ data }) => data)).toMatchObject([
      { attempt: 1, category: 'overloaded', waitMs: 30 },
      { attempt: 2, category: 'stream_truncated' },
    ]);
    expect(message?.data).toMatchObject({ attempt: 3, parts: [{ text: 'whole' }], scriptUnused: [3] });
  });

  test('ends the request when it may not be tried again', async () => {
    const session = await scripted({ error: { category: 'auth' } }, { parts: [{ text: 'never' }] });
    expect((await failureOf(session)).data).toMatchObject({
      category: 'auth',
      attempts: 1,
      scriptUnused: [1],
    });
  });

  test('ends the request when the provider asks for more than a minute, and says how long', async () => {
    const session = await scripted({ error: { category: 'rate_limit', retryAfterMs: 61_000 } });
    const failed = await failureOf(session);
    expect(failed.data).toMatchObject({ category: 'rate_limit', attempts: 1, retryAfterMs: 61_000 });
    expect(await session.of('model.retrying')).toEqual([]);
  });

  test('ends the request after five attempts', async () => {
    const session = await scripted(...Array(6).fill({ error: { category: 'transport', retryAfterMs: 1 } }));
    expect((await failureOf(session)).data).toMatchObject({
      category: 'transport',
      attempts: 5,
      scriptUnused: [5],
    });
    expect(await session.of('model.retrying')).toHaveLength(4);
  });
});

describe('a cancel', () => {
  const control = (session: Session, requestId: string): void =>
    house.bus.nc.publish(
      controlSubject.cancel(TENANT, session.id),
      JSON.stringify({ intents: [], requestId, reason: 'person' }),
    );

  test('ends an answer that is coming, with what had come', async () => {
    const session = await scripted({ parts: [{ text: 'abcdefgh' }], delayMs: 60_000, usage: { output: 1 } });
    const requested = await session.ask();
    await session.until('model.attempt.started');
    control(session, requested.envelope.id);
    const [failed] = await session.until('model.failed');
    expect(failed?.data).toMatchObject({ category: 'model_cancelled', attempts: 1, usage: { output: 1 } });
  });

  test('ends a wait between two attempts', async () => {
    const session = await scripted({ error: { category: 'overloaded', retryAfterMs: 50_000 } });
    const requested = await session.ask();
    await session.until('model.retrying');
    control(session, requested.envelope.id);
    const [failed] = await session.until('model.failed');
    expect(failed?.data).toMatchObject({ category: 'model_cancelled', attempts: 1 });
  });

  test('of another session or request ends nothing', async () => {
    const session = await scripted({ parts: [{ text: 'abcd' }], delayMs: 200 });
    const requested = await session.ask();
    await session.until('model.attempt.started');
    const other = { ...session, id: 'another' };
    control(other, requested.envelope.id);
    control(session, 'another');
    const [message] = await session.until('model.message');
    expect(message?.data.parts).toMatchObject([{ text: 'abcd' }]);
  });
});
