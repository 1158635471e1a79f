import {
  type EventQuarantinedV1,
  type EventType,
  evolve,
  GENESIS_HASH,
  initialState,
  laneFilter,
  rpcSubject,
  sessionFilter,
} from '@interlock/contracts';
import {
  ack,
  append,
  appendInbox,
  type Bus,
  callRpc,
  canonicalJson,
  type HousedService,
  readRange,
  runConsumer,
  sha256Hex,
  TerminalError,
} from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowed, completed, type Story, started, tellStory, validated } from './story.ts';
import { judged, newSession, startTestHouse, type TestHouse, until } from './support.ts';

describe.each([1, 3] as const)('on %i server(s)', { timeout: 60_000 }, (nodes) => {
  let house: TestHouse;
  let bus: Bus;
  let stores: HousedService[];
  beforeAll(async () => {
    house = await startTestHouse({ nodes });
    bus = await house.bus();
    stores = [await house.eventStore(), await house.eventStore()];
    for (const store of stores) await until(async () => store.ready());
  }, 60_000);
  afterAll(async () => {
    // Whatever was thrown at them, they are still up.
    for (const store of stores) expect(await store.ready()).toBe(true);
    await house.stop();
  });

  /** Stores bytes as anybody with the right to publish could, and gives their sequence. */
  async function store(subject: string, body: string | Uint8Array): Promise<number> {
    return (await bus.request(subject, body, { timeoutMs: 5000 })).json<{ seq: number }>().seq;
  }

  async function records(tenant: string): Promise<EventQuarantinedV1[]> {
    const filter = `ev.v1.${tenant}.sys.event.quarantined`;
    const entries = await readRange(bus, { filter, fromSeq: 1, leader: true });
    return entries.map((entry) => {
      if (entry.type !== 'event.quarantined') throw new Error('unreadable');
      return entry.data;
    });
  }

  /** The records of a message, once all is judged: exactly one is right. */
  async function recordsOf(seq: number, tenant = 'local'): Promise<EventQuarantinedV1[]> {
    await judged(bus);
    return (await records(tenant)).filter((record) => record.seq === seq);
  }

  async function newStory(...intents: string[]): Promise<Story> {
    const story = tellStory(house, bus, newSession());
    await story.callTools(...intents);
    return story;
  }

  function envelope(subject: string, more: Record<string, unknown>): Record<string, unknown> {
    const [, , tenant, session] = subject.split('.');
    return {
      specversion: '1.0',
      id: '01J00000000000000000000000',
      type: 'user.message',
      source: 'interlock/test/1',
      time: '2026-01-01T00:00:00.000Z',
      subject,
      datacontenttype: 'application/json',
      dataschema: 'urn:interlock:user.message:v1',
      tenant,
      session,
      correlationid: session,
      nonce: '12345678',
      data: { text: 'hi', person: 'ada' },
      ...more,
    };
  }

  test('garbage that is no JSON, in the middle of a journal; what follows it still counts', async () => {
    const story = await newStory('i1');
    const seq = await store(`ev.v1.local.${story.session}.i.i1.tool.validated`, '{{{ not json');
    const bytes = await store(
      `ev.v1.local.${story.session}.u.user.message`,
      new Uint8Array([0xff, 0xfe, 0x00]),
    );
    await story.say('tool.validated', validated(), { intent: 'i1' });
    expect(await recordsOf(seq)).toMatchObject([
      { session: story.session, intent: 'i1', code: 'unreadable_event', reason: 'not JSON' },
    ]);
    expect(await recordsOf(bytes)).toMatchObject([{ code: 'unreadable_event' }]);
    expect((await story.state()).calls.i1?.stage).toBe('validated');
  });

  test('an unknown type, an unknown version, data that does not fit', async () => {
    const { session } = await newStory();
    const at = `ev.v1.local.${session}.u.`;
    const type = await store(
      `${at}user.whispered`,
      canonicalJson(envelope(`${at}user.whispered`, { type: 'user.whispered' })),
    );
    const subject = `${at}user.message`;
    const version = await store(
      subject,
      canonicalJson(envelope(subject, { dataschema: 'urn:interlock:user.message:v9' })),
    );
    const data = await store(subject, canonicalJson(envelope(subject, { data: { text: 7 } })));
    expect(await recordsOf(type)).toMatchObject([{ session, code: 'unknown_type' }]);
    expect(await recordsOf(version)).toMatchObject([{ session, code: 'unknown_version' }]);
    expect(await recordsOf(data)).toMatchObject([{ session, code: 'unreadable_event' }]);
  });

  test('under another subject than it names; on a lane where its type does not belong', async () => {
    const { session } = await newStory();
    const said = `ev.v1.local.${session}.u.user.message`;
    const other = await store(`ev.v1.local.${session}.u.session.closed`, canonicalJson(envelope(said, {})));
    const journal = `ev.v1.local.${session}.s.user.message`;
    const lane = await store(journal, canonicalJson(envelope(journal, {})));
    expect(await recordsOf(other)).toMatchObject([{ code: 'unreadable_event' }]);
    expect(await recordsOf(lane)).toMatchObject([{ code: 'unreadable_event' }]);
  });

  test('a subject that no lane has; a tenant that no id may be: the house tells', async () => {
    const lane = await store('ev.v1.local.s1.q.user.message', '{}');
    const tenant = await store('ev.v1.a:b.s1.u.user.message', '{}');
    const session = await store('ev.v1.local.s:1.u.user.message', '{}');
    const short = await store('ev.v1.local', '{}');
    expect(await recordsOf(lane, '-')).toMatchObject([{ subject: 'ev.v1.local.s1.q.user.message' }]);
    expect(await recordsOf(tenant, '-')).toMatchObject([{ subject: 'ev.v1.a:b.s1.u.user.message' }]);
    expect(await recordsOf(session)).toMatchObject([{ subject: 'ev.v1.local.s:1.u.user.message' }]);
    expect(await recordsOf(short, '-')).toMatchObject([{ subject: 'ev.v1.local' }]);
  });

  test('a forged decision, a forged fact, a forged answer', async () => {
    const story = await newStory('i1');
    await story.say('tool.validated', validated(), { intent: 'i1' });
    // Signed well, by a key that may not say this.
    const decision = await story.say('tool.approval.allowed', allowed('i1'), {
      intent: 'i1',
      pool: 'fs',
      as: 'executor-fs',
    });
    const claim = await claimed(story);
    // By the key of another pool.
    const fact = await story.say('tool.execution.completed', completed(claim), {
      intent: 'i1',
      pool: 'fs',
      as: 'executor-shell',
    });
    const answer = {
      intent: 'i1',
      askedId: '01J00000000000000000000000',
      bindingSha256: 'a'.repeat(64),
      verdict: 'approve',
      person: 'eve',
    } as const;
    const said = await story.say('tool.answer', answer);
    for (const seq of [decision, fact, said]) {
      expect(await recordsOf(seq)).toMatchObject([{ code: 'bad_signature', session: story.session }]);
    }
  });

  /** A decision that is good, and a claim on it. The story's own fold checks no signature, so the lane is read here. */
  async function claimed({ session }: Story): Promise<number> {
    const lane = { tenant: 'local', session, lane: 'i', intent: 'i1', pool: 'fs' } as const;
    const say = async <Type extends EventType>(
      type: Type,
      data: Parameters<typeof append<Type>>[4]['data'],
      as: string,
    ) => {
      const entries = await readRange(bus, { filter: laneFilter(lane), fromSeq: 1, leader: true });
      const last = entries.at(-1);
      const result = await append(
        bus,
        house.writer(as),
        lane,
        { seq: last?.seq ?? 0, hash: last?.hash ?? '' },
        { type, data },
      );
      if (!result.ok) throw new Error('conflict');
      return result.entry.seq;
    };
    await say('tool.approval.allowed', allowed('i1'), 'policy-engine');
    return say('tool.execution.started', started(), 'executor-fs');
  }

  test('a broken chain, and an illegal step on a whole one', async () => {
    const story = await newStory('i1');
    const subject = `ev.v1.local.${story.session}.i.i1.tool.validated`;
    const fields = {
      type: 'tool.validated',
      dataschema: 'urn:interlock:tool.validated:v1',
      intent: 'i1',
      data: validated(),
    };
    const broken = await store(
      subject,
      canonicalJson(envelope(subject, { ...fields, prevseq: 1, prevhash: GENESIS_HASH })),
    );
    const illegal = await story.say('tool.execution.started', started(), { intent: 'i1', pool: 'fs' });
    expect(await recordsOf(broken)).toMatchObject([{ intent: 'i1', code: 'chain_broken' }]);
    expect(await recordsOf(illegal)).toMatchObject([{ intent: 'i1', code: 'illegal_transition' }]);
  });

  test('a stray in a registry lane', async () => {
    const subject = 'ev.v1.local.sys.grant.revoked';
    const fields = {
      type: 'grant.revoked',
      dataschema: 'urn:interlock:grant.revoked:v1',
      data: { grantId: 'g', person: 'p' },
    };
    const seq = await store(
      subject,
      canonicalJson(envelope(subject, { ...fields, prevseq: 7, prevhash: GENESIS_HASH })),
    );
    expect(await recordsOf(seq)).toMatchObject([{ session: 'sys', code: 'chain_broken' }]);
  });

  test('a message said twice under one id is no stray', async () => {
    const { session } = await newStory();
    const draft = {
      type: 'user.message',
      id: '01J0000000000000000000000A',
      data: { text: 'x', person: 'ada' },
    } as const;
    const writer = house.writer('client-ada');
    await appendInbox(bus, writer, { tenant: 'local', session }, draft);
    const { seq } = await appendInbox(bus, writer, { tenant: 'local', session }, draft);
    expect(await recordsOf(seq)).toEqual([]);
  });

  test('what is stored apart and is there is read; what can never be is quarantined', async () => {
    const story = await newStory();
    await story.say('user.message', { text: 'y'.repeat(100_000), person: 'ada' });
    const subject = `ev.v1.local.${story.session}.u.user.message`;
    const lost = { $artifact: `artifact://${sha256Hex('lost')}`, sizeBytes: 4, encoding: 'text' };
    const data = { text: lost, person: 'ada', $spilled: ['/text'] };
    const seq = await store(subject, canonicalJson(envelope(subject, { data })));
    expect(await recordsOf(seq)).toHaveLength(1);
  });

  test('H1: everything again from the first message, on new replicas: no second record', async () => {
    await judged(bus);
    const before = [await records('local'), await records('-')];
    expect(new Set(before.flat().map(({ seq }) => seq)).size).toBe(before.flat().length);
    // The durable is deleted and made anew, so that every message is delivered again.
    await bus.request('$JS.API.CONSUMER.DELETE.EV.event-store', '', { timeoutMs: 2000 });
    const replica = await house.eventStore();
    await until(async () => replica.ready());
    await judged(bus);
    expect([await records('local'), await records('-')]).toEqual(before);
    await replica.stop();
  });

  // One server alone cannot go on while it is killed.
  if (nodes === 3) {
    test('H1: servers killed and started again in the middle of it: each once all the same', async () => {
      const { session } = await newStory();
      const subject = `ev.v1.local.${session}.u.user.message`;
      const storing = Array.from({ length: 60 }, async (_, at) => {
        // What is not acknowledged is stored again: more strays, each of which counts.
        while (!(await isStored(subject, `garbage ${at}`)));
      });
      for (let node = 0; node < nodes; node++) {
        await house.nats.kill(node);
        await house.nats.restart(node);
      }
      await Promise.all(storing);
      await judged(bus);
      const stored = await readRange(bus, { filter: subject, fromSeq: 1, leader: true });
      const strays = stored.filter(({ type }) => type === 'unreadable').map(({ seq }) => seq);
      expect(strays.length).toBeGreaterThanOrEqual(60);
      const told = (await records('local')).filter((record) => record.session === session);
      expect(told.map(({ seq }) => seq).sort((one, two) => one - two)).toEqual(strays);
    }, 120_000);
  }

  async function isStored(subject: string, body: string): Promise<boolean> {
    try {
      const reply = await bus.request(subject, body, { timeoutMs: 5000 });
      return reply.json<{ seq?: number }>().seq !== undefined;
    } catch {
      // The server is away: asked again.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return false;
    }
  }

  test('a dead letter is recorded once: the event stays in its fold, and whoever waits learns of it', async () => {
    const story = await newStory('i1');
    await judged(bus);
    const seen = Promise.withResolvers<number>();
    const consumer = runConsumer(bus, {
      durable: { name: 'validator', stream: 'EV', filters: [] },
      handle: async ({ entry, seq }) => {
        if (entry.type !== 'tool.intent' || entry.envelope.session !== story.session) return ack;
        seen.resolve(seq);
        throw new TerminalError('message_too_large', 'no room');
      },
    });
    const seq = await seen.promise;
    const found = await until(async () => {
      const all = (await records('local')).filter((record) => record.seq === seq);
      return all.length > 0 && all;
    });
    expect(found).toMatchObject([
      {
        session: story.session,
        intent: 'i1',
        code: 'message_too_large',
        reason: expect.stringContaining('validator gave up'),
      },
    ]);
    await consumer.stop();
    expect(await recordsOf(seq)).toHaveLength(1);
  });

  test('a fold with all signatures checked skips what was quarantined, and nothing else', async () => {
    await judged(bus);
    const strays = (await records('local')).filter(({ reason }) => !reason.includes('gave up'));
    const sessions = Map.groupBy(strays, ({ session }) => session ?? '');
    const verifier = { keys: house.keys.keyRing, types: 'all' } as const;
    let folded = 0;
    for (const [session, told] of sessions) {
      if (session === '' || session === 'sys') continue;
      const entries = await readRange(bus, { filter: sessionFilter('local', session), fromSeq: 1 }, verifier);
      const skipped: number[] = [];
      entries.reduce(
        (state, entry) => {
          const next = evolve(state, entry);
          if (next.skipped > state.skipped) skipped.push(entry.seq);
          return next;
        },
        initialState('local', session),
      );
      expect(skipped).toEqual(told.map(({ seq }) => seq).sort((a, b) => a - b));
      folded += 1;
    }
    expect(folded).toBeGreaterThan(3);
  });

  test('what is no JSON is answered as the bytes it is', async () => {
    const story = await newStory();
    const seq = await store(`ev.v1.local.${story.session}.u.user.message`, 'not json');
    const reply = await callRpc(bus, {
      subject: rpcSubject.query('local', 'events'),
      rpc: 'query.events',
      request: { session: story.session, fromSeq: seq },
      timeoutMs: 5000,
    });
    const subject = `ev.v1.local.${story.session}.u.user.message`;
    const base64 = Buffer.from('not json').toString('base64');
    expect(reply).toMatchObject({
      ok: true,
      events: [{ seq, event: { type: 'unreadable', subject, base64 } }],
    });
  });

  test('an envelope in bytes that are not canonical comes with them: they are what is hashed', async () => {
    const story = await newStory();
    const subject = `ev.v1.local.${story.session}.u.user.message`;
    const text = '{"type": "user.message"}';
    const seq = await store(subject, text);
    const reply = await callRpc(bus, {
      subject: rpcSubject.query('local', 'events'),
      rpc: 'query.events',
      request: { session: story.session, fromSeq: 1 },
      timeoutMs: 5000,
    });
    if (!reply.ok) throw new Error(reply.message);
    const strange = reply.events.find((event) => event.seq === seq);
    expect(strange).toEqual({
      seq,
      event: { type: 'user.message' },
      bytes: Buffer.from(text).toString('base64'),
    });
    for (const { bytes } of reply.events.filter((event) => event.seq !== seq)) expect(bytes).toBeUndefined();
  });
});
