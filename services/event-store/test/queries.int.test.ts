import {
  fold,
  initialState,
  type QueryName,
  rpcSubject,
  sessionFilter,
  type ToolDefinition,
} from '@interlock/contracts';
import {
  type Bus,
  callRpc,
  hashOf,
  putWithTtl,
  type RpcReply,
  type RpcRequestInput,
  readRange,
} from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowed, asked, completed, observation, started, tellStory, validated } from './story.ts';
import { judged, newSession, startTestHouse, type TestHouse, until } from './support.ts';

describe.each([1, 3] as const)('on %i server(s)', { timeout: 60_000 }, (nodes) => {
  let house: TestHouse;
  let bus: Bus;
  beforeAll(async () => {
    house = await startTestHouse({ nodes });
    bus = await house.bus();
    // Two replicas: any of them answers any question.
    const stores = [await house.eventStore(), await house.eventStore()];
    for (const store of stores) await until(async () => store.ready());
  }, 60_000);
  afterAll(() => house.stop());

  const ask = <Name extends QueryName>(
    name: Name,
    request: RpcRequestInput<`query.${Name}`>,
    tenant = 'local',
  ): Promise<RpcReply<`query.${Name}`>> =>
    callRpc(bus, {
      subject: rpcSubject.query(tenant, name),
      rpc: `query.${name}`,
      request,
      timeoutMs: 10_000,
    });
  const ok = <Reply extends { ok: boolean }>(reply: Reply): Extract<Reply, { ok: true }> => {
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    return reply as Extract<Reply, { ok: true }>;
  };

  describe('events', () => {
    test('as stored, by sequence, in pages, and what was just appended is there', async () => {
      const story = tellStory(house, bus, newSession());
      await story.callTools('i1');
      const last = await story.say('tool.validated', validated(), { intent: 'i1' });
      const all = ok(await ask('events', { session: story.session }));
      expect(all).toMatchObject({ throughSeq: last, more: false });
      expect(all.events.map(({ event }) => event.type)).toEqual([
        'session.opened',
        'user.message',
        'run.started',
        'model.requested',
        'model.attempt.started',
        'model.message',
        'tool.intent',
        'tool.validated',
      ]);
      const first = ok(await ask('events', { session: story.session, limit: 3 }));
      expect(first.more).toBe(true);
      const rest = ok(await ask('events', { session: story.session, fromSeq: first.throughSeq + 1 }));
      expect([...first.events, ...rest.events]).toEqual(all.events);
      const [, second] = all.events;
      const range = await ask('events', {
        session: story.session,
        fromSeq: second?.seq ?? 0,
        throughSeq: second?.seq ?? 0,
      });
      expect(ok(range).events).toEqual([second]);
    });

    test('a page stays below the limit of a message, however much is stored', async () => {
      const story = tellStory(house, bus, newSession());
      await story.callTools('i1');
      // Just below the limit from which a field is stored apart, many of them.
      for (let n = 0; n < 20; n++)
        await story.say('user.message', { text: 'x'.repeat(60_000), person: 'ada' });
      const seqs: number[] = [];
      let pages = 0;
      for (let from = 0; ; pages++) {
        const page = ok(await ask('events', { session: story.session, fromSeq: from, limit: 1000 }));
        expect(JSON.stringify(page).length).toBeLessThan(720 * 1024);
        seqs.push(...page.events.map(({ seq }) => seq));
        from = page.throughSeq + 1;
        if (!page.more) break;
      }
      expect(pages).toBeGreaterThan(0);
      const stored = await readRange(bus, { filter: sessionFilter('local', story.session), fromSeq: 1 });
      expect(seqs).toEqual(stored.map(({ seq }) => seq));
    });

    test('of a session that is not there; of a tenant that cannot be', async () => {
      expect(await ask('events', { session: 'nobody' })).toMatchObject({
        ok: false,
        code: 'session_not_found',
      });
      const subject = 'rpc.v1.a:b.query.events';
      const reply = await callRpc(bus, {
        subject,
        rpc: 'query.events',
        request: { session: 's' },
        timeoutMs: 5000,
      });
      expect(reply).toMatchObject({ ok: false, code: 'invalid_id' });
    });

    test('tenants do not see one another', async () => {
      const story = tellStory(house, bus, newSession(), 'other');
      await story.callTools();
      expect(await ask('events', { session: story.session })).toMatchObject({ code: 'session_not_found' });
      expect(ok(await ask('events', { session: story.session }, 'other')).events.length).toBeGreaterThan(0);
    });
  });

  describe('state', () => {
    test('is the fold, now and at any sequence', async () => {
      const story = tellStory(house, bus, newSession());
      await story.callTools('i1');
      await story.say('tool.validated', validated(), { intent: 'i1' });
      const verifier = { keys: house.keys.keyRing, types: 'all' } as const;
      const entries = await readRange(
        bus,
        { filter: sessionFilter('local', story.session), fromSeq: 1 },
        verifier,
      );
      for (const { seq } of entries) {
        const at = ok(await ask('state', { session: story.session, at: seq }));
        const wanted = fold(
          initialState('local', story.session),
          entries.filter((entry) => entry.seq <= seq),
        );
        expect(at).toEqual({ ok: true, throughSeq: seq, state: JSON.parse(JSON.stringify(wanted)) });
      }
      const now = ok(await ask('state', { session: story.session }));
      expect(now.throughSeq).toBe(entries.at(-1)?.seq);
    });

    test('a sequence far ahead gives the present, and spoils nothing', async () => {
      const story = tellStory(house, bus, newSession());
      await story.callTools('i1');
      for (let n = 0; n < 4; n++) ok(await ask('state', { session: story.session, at: 1_000_000_000 }));
      const seq = await story.say('tool.validated', validated(), { intent: 'i1' });
      for (let n = 0; n < 4; n++) {
        const { state, throughSeq } = ok(await ask('state', { session: story.session }));
        expect(throughSeq).toBe(seq);
        expect(state).toMatchObject({ calls: { i1: { stage: 'validated' } } });
      }
    });

    test('of a session that was never opened', async () => {
      expect(await ask('state', { session: 'nobody' })).toMatchObject({
        ok: false,
        code: 'session_not_found',
      });
    });
  });

  describe('lane', () => {
    test('an empty lane, and the last step that counts with strays left out', async () => {
      const story = tellStory(house, bus, newSession());
      await story.callTools('i1');
      expect(ok(await ask('lane', { session: story.session, intent: 'i9' }))).toMatchObject({
        tail: { seq: 0 },
        step: null,
      });
      await story.say('tool.validated', validated(), { intent: 'i1' });
      const seq = await story.say('tool.approval.allowed', allowed('i1'), { intent: 'i1', pool: 'fs' });
      const stray = await story.say('tool.validated', validated(), { intent: 'i1' });
      expect(ok(await ask('lane', { session: story.session, intent: 'i1' }))).toMatchObject({
        tail: { seq: stray },
        step: { seq, type: 'tool.approval.allowed' },
      });
    });
  });

  describe('sessions and approvals', () => {
    test('the list, newest first, and what waits for a person', async () => {
      const tenant = 'lists';
      const [one, two] = [newSession(), newSession()].map((name) => tellStory(house, bus, name, tenant));
      if (!one || !two) throw new Error('no story');
      await one.callTools('i1');
      await one.say('tool.validated', validated(), { intent: 'i1' });
      await one.say('tool.approval.allowed', allowed('i1'), { intent: 'i1', pool: 'fs' });
      const claim = await one.say('tool.execution.started', started(), { intent: 'i1', pool: 'fs' });
      await one.say('tool.execution.completed', completed(claim), { intent: 'i1', pool: 'fs' });
      await one.say('tool.observation', observation(), { intent: 'i1' });
      const usage = { inputUncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: null };
      const finished = { reason: 'completed', turns: 1, usage, costUsd: null, throughSeq: claim } as const;
      await one.say('run.finished', finished);
      await two.callTools('i2');
      await two.say('tool.validated', validated(), { intent: 'i2' });
      const askedSeq = await two.say('tool.approval.asked', asked(), { intent: 'i2' });

      const list = ok(await ask('sessions', {}, tenant)).sessions;
      expect(list).toMatchObject([
        { session: two.session, status: 'waiting_for_approval', turns: 1, runs: 1 },
        { session: one.session, status: 'completed', turns: 1, firstMessage: 'read it', model: 'scripted:m' },
      ]);
      expect(ok(await ask('sessions', { limit: 1 }, tenant)).sessions).toHaveLength(1);

      const pending = ok(await ask('approvals', {}, tenant)).approvals;
      expect(pending).toMatchObject([
        { session: two.session, intent: 'i2', askedSeq, title: 'Write a file', preview: '+a' },
      ]);
      expect(ok(await ask('approvals', { session: two.session }, tenant)).approvals).toEqual(pending);
      expect(ok(await ask('approvals', { session: one.session }, tenant)).approvals).toEqual([]);

      const [first] = pending;
      if (!first) throw new Error('nothing is pending');
      const { askedId, bindingSha256 } = first;
      await two.say('tool.answer', {
        intent: 'i2',
        askedId,
        bindingSha256,
        verdict: 'approve',
        person: 'ada',
      });
      for (let n = 0; n < 4; n++) expect(ok(await ask('approvals', {}, tenant)).approvals).toEqual([]);
    });
  });

  describe('registration', () => {
    const definition = (name: string, pool: string, version = '1'): ToolDefinition => ({
      name,
      version,
      description: 'a tool',
      pool,
      inputSchema: { type: 'object' },
      readOnly: true,
      visibleIn: ['normal'],
      needsBaseline: false,
      budgets: { timeoutMs: 1000, outputBytes: 1000 },
      resumePolicy: 'never-rerun',
    });
    const register = (tools: ToolDefinition[], pool: string, tenant = '-') =>
      callRpc(bus, {
        subject: rpcSubject.register(tenant, pool),
        rpc: 'register',
        request: { pool, instance: 'one', tools },
        timeoutMs: 10_000,
      });
    const registered = async (tenant: string) =>
      (await readRange(bus, { filter: `ev.v1.${tenant}.sys.tool.registered`, fromSeq: 1, leader: true }))
        .length;

    test('a definition is recorded once, however many offer it; the durable of its pool is there', async () => {
      const tools = [definition('alpha', 'mine'), definition('beta', 'mine')];
      const before = await registered('-');
      const replies = await Promise.all(Array.from({ length: 6 }, () => register(tools, 'mine')));
      for (const reply of replies) expect(reply).toEqual({ ok: true, digests: tools.map(hashOf) });
      expect(await registered('-')).toBe(before + 2);
      const info = await bus.request('$JS.API.CONSUMER.INFO.EV.executor-mine', '', { timeoutMs: 2000 });
      expect(info.json()).toMatchObject({
        config: { filter_subject: 'ev.v1.*.*.i.*.tool.approval.allowed.mine' },
      });

      const newer = definition('alpha', 'mine', '2');
      expect(await register([newer], 'mine')).toEqual({ ok: true, digests: [hashOf(newer)] });
      expect(await registered('-')).toBe(before + 3);
      const { tools: inForce } = ok(await ask('registry', {}));
      expect(inForce.filter(({ definition: { pool } }) => pool === 'mine')).toEqual([
        { digest: hashOf(newer), definition: newer },
        { digest: hashOf(tools[1]), definition: tools[1] },
      ]);
    });

    test('a tenant of its own, whose tool wins over the house’s', async () => {
      const own = definition('alpha', 'theirs');
      expect(await register([own], 'theirs', 'tenant1')).toMatchObject({ ok: true });
      const find = async (tenant: string) =>
        ok(await ask('registry', {}, tenant)).tools.find((tool) => tool.definition.name === 'alpha')
          ?.definition.pool;
      expect(await find('tenant1')).toBe('theirs');
      expect(await find('local')).toBe('mine');
    });

    test('refused: another pool’s name while one of that pool is alive', async () => {
      await register([definition('gamma', 'owner')], 'owner');
      const presence = JSON.stringify({ sandboxLevel: 'A', since: '2026-01-01T00:00:00Z' });
      await putWithTtl(bus, 'registry', 'executor.owner.one', presence, 60_000);
      const taken = definition('gamma', 'thief');
      expect(await register([taken], 'thief')).toMatchObject({ ok: false, code: 'query_invalid' });
      expect(await register([taken], 'shell')).toMatchObject({ ok: false, code: 'query_invalid' });
      expect(ok(await ask('registry', {})).executors).toEqual([
        { pool: 'owner', instance: 'one', sandboxLevel: 'A', since: '2026-01-01T00:00:00Z' },
      ]);
    });
  });

  test('nothing of all this was quarantined but the one stray of the lane query', async () => {
    await judged(bus);
    const filter = 'ev.v1.*.sys.event.quarantined';
    const records = await readRange(bus, { filter, fromSeq: 1, leader: true });
    expect(records.map((entry) => entry.type === 'event.quarantined' && entry.data)).toMatchObject([
      { code: 'illegal_transition', intent: 'i1' },
    ]);
  });
});
