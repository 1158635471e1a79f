/** The Messages API through its real SDK, against a local server that speaks the wire format. */
import { Writable } from 'node:stream';
import { controlSubject, type ModelPart, type ToolDefinition } from '@interlock/contracts';
import { append, createLogger, EMPTY_LANE, hashOf, systemClock, systemIds } from '@interlock/kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Session, startHouse, TENANT, type TestHouse, typesFrom, until } from '../test/house.ts';
import { cut, refuse, type SseServer, stall, startSseServer, stream } from '../test/sse-server.ts';
import { eventsOf, fixture } from '../test/streams.ts';

/** A marked key: it must be found nowhere but in the header that carries it. */
const KEY = 'sk-canary-4f1e7a';
const MODEL = { provider: 'anthropic', model: 'claude-fixture-1' };

let house: TestHouse;
let server: SseServer;
const lines: string[] = [];

beforeAll(async () => {
  house = await startHouse();
  process.env.ANTHROPIC_CUSTOM_HEADERS = 'x-proxy-auth: from-the-environment\nAuthorization: Bearer another';
  process.env.ANTHROPIC_LOG = 'debug';
});
afterAll(async () => {
  delete process.env.ANTHROPIC_CUSTOM_HEADERS;
  delete process.env.ANTHROPIC_LOG;
  await house.stop();
});

beforeEach(async () => {
  server = await startSseServer();
});
afterEach(() => server.stop());

/** A gateway of this test's server; ended before the next test, so that requests go to one only. */
async function withGateway(act: () => Promise<void>, env: Record<string, string> = {}): Promise<void> {
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: 'trace', destination });
  const settings = { INTERLOCK_ANTHROPIC_API_KEY: KEY, INTERLOCK_ANTHROPIC_BASE_URL: server.url, ...env };
  const gateway = await house.gateway(settings, logger);
  try {
    await act();
  } finally {
    await gateway.stop();
  }
}

const events = eventsOf(fixture('parallel-tools'));
/** Events of the first text, before any tool. */
const HALF = 4;

describe('a request is answered', () => {
  test('the claim before the call, the message before its intents; the key goes in one header and nothing else does', async () => {
    await withGateway(async () => {
      const session = await house.session(MODEL);
      let typesAtCall: string[] | undefined;
      server.answer((response, seen) => {
        void session.events().then((log) => {
          typesAtCall = typesFrom(log, 'model.requested');
          stream(fixture('parallel-tools'))(response, seen);
        });
      });
      const requested = await session.ask();
      const intents = await session.until('tool.intent', 2);
      expect(typesAtCall).toEqual(['model.requested', 'model.attempt.started']);
      const log = await session.events();
      const seqOf = (type: string): number => log.find((entry) => entry.type === type)?.seq ?? 0;
      expect(seqOf('model.message')).toBeLessThan(seqOf('tool.intent'));
      const [message] = await session.of('model.message');
      expect(message?.data).toMatchObject({
        attempt: 1,
        model: 'claude-fixture-1',
        stop: 'tool_calls',
        nativeStop: 'tool_use',
        usage: { inputUncached: 10, output: 20 },
        costUsd: null,
        requestId: 'req_test',
        contextSnapshotId: requested.data.contextSnapshotId,
      });
      expect(message?.data.latencyMs).toBeGreaterThanOrEqual(0);
      expect(
        intents.map(({ data }) => data).sort((a, b) => (a.reason ? -1 : b.reason ? 1 : 0)),
      ).toMatchObject([
        { rawInput: { path: 'a.txt' }, reason: 'to see a', expect: 'text', providerRef: 'toolu_1' },
        { rawInput: { path: 'b.txt' }, providerRef: 'toolu_2' },
      ]);
      const [seen] = server.requests;
      expect(seen?.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(seen?.headers).not.toHaveProperty('x-proxy-auth');
      expect(seen?.headers).not.toHaveProperty('traceparent');
      expect(seen?.body).toMatchObject({ model: 'claude-fixture-1', max_tokens: 8192, stream: true });
      expect(server.requests).toHaveLength(1);
    });
  });

  test('with the tools of the registry on the wire, and one that is gone left out', async () => {
    const definition = toolDefinition();
    const digest = hashOf(definition);
    const writer = { service: 'test', instance: 't', clock: systemClock, ids: systemIds };
    const lane = { tenant: '-', session: 'sys', lane: 'sys' } as const;
    await append(house.bus, writer, lane, EMPTY_LANE, {
      type: 'tool.registered',
      data: { digest, definition },
    });
    await withGateway(async () => {
      server.answer(stream(fixture('text')));
      const session = await house.session(MODEL);
      const visible = { pool: 'fs', readOnly: true };
      const tools = [
        { name: 'read_file', digest, ...visible },
        { name: 'gone', digest: 'd'.repeat(64), ...visible },
      ];
      await session.ask({ tools });
      await session.until('model.message');
      expect(server.requests[0]?.body.tools).toMatchObject([
        {
          name: 'read_file',
          description: 'Reads a file.',
          input_schema: { properties: { path: {}, _reason: {} } },
        },
      ]);
    });
  });

  test('the next turn carries on: what the model thought goes back as it came', async () => {
    await withGateway(async () => {
      server.answer(stream(fixture('thinking-signature')), stream(fixture('text')));
      const session = await house.session(MODEL);
      await session.ask();
      await session.until('model.message');
      await session.say('and now?');
      await session.ask();
      await session.until('model.message', 2);
      expect(server.requests[1]?.body.messages).toMatchObject([
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Let me see.', signature: 'c2lnbmF0dXJlLW9mLWEtZml4dHVyZQ==' },
            { type: 'text', text: 'Done.' },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'and now?' }] },
      ]);
    });
  });

  test('once: a gateway that knows nothing of it makes no second call', async () => {
    server.answer(stream(fixture('parallel-tools')));
    const session = await house.session(MODEL);
    await withGateway(async () => {
      await session.ask();
      await session.until('tool.intent', 2);
    });
    const before = await session.events();
    await house.deliverAgain();
    await withGateway(async () => {
      const later = await house.session(MODEL);
      server.answer(stream(fixture('text')));
      await later.ask();
      await later.until('model.message');
    });
    expect(await session.events()).toEqual(before);
    expect(server.requests).toHaveLength(2);
  });
});

function toolDefinition(): ToolDefinition {
  return {
    name: 'read_file',
    version: '1.0.0',
    description: 'Reads a file.',
    pool: 'fs',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    readOnly: true,
    visibleIn: ['normal'],
    needsBaseline: false,
    budgets: { timeoutMs: 1000, outputBytes: 1000 },
    resumePolicy: 'rerun-safe',
  };
}

describe('an attempt that fails is followed by another', () => {
  const failures = [
    ['truncated', () => cut(events, events.length - 1), 'stream_truncated', {}],
    ['reset', () => cut(events, HALF, 'reset'), 'transport', {}],
    ['overloaded in the stream', () => stream(fixture('error-frame')), 'overloaded', {}],
    [
      'refused for now',
      () => refuse(429, overloaded('rate_limit_error'), { 'retry-after-ms': '5' }),
      'rate_limit',
      {},
    ],
    ['broken', () => refuse(500, { message: 'x' }), 'internal', {}],
    ['silent in the middle', () => stall(events, HALF), 'stream_timeout', { INTERLOCK_MODEL_IDLE_MS: '150' }],
    [
      'silent from the start',
      () => stall(events, 0),
      'stream_timeout',
      { INTERLOCK_MODEL_FIRST_BYTE_MS: '150' },
    ],
    ['too long', () => stall(events, HALF), 'stream_timeout', { INTERLOCK_MODEL_TOTAL_MS: '150' }],
  ] as const;

  test.each(failures)('%s', async (_name, responder, category, env) => {
    await withGateway(async () => {
      server.answer(responder(), stream(fixture('text')));
      const session = await house.session(MODEL);
      await session.ask();
      const [message] = await session.until('model.message');
      expect(typesFrom(await session.events(), 'model.requested')).toEqual([
        'model.requested',
        'model.attempt.started',
        'model.retrying',
        'model.attempt.started',
        'model.message',
      ]);
      expect((await session.of('model.retrying'))[0]?.data).toMatchObject({ attempt: 1, category });
      // Nothing of the first attempt is in the answer.
      expect(message?.data).toMatchObject({ attempt: 2, parts: [{ type: 'text', text: 'Grüße, Welt 👋' }] });
    }, env);
  });

  test('keep-alives count as life', async () => {
    await withGateway(
      async () => {
        server.answer((response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          let sent = 0;
          const timer = setInterval(() => {
            sent += 1;
            if (sent < 6) response.write(': keep-alive\n\n');
            else {
              clearInterval(timer);
              response.end(fixture('text'));
            }
          }, 60);
        });
        const session = await house.session(MODEL);
        await session.ask();
        const [message] = await session.until('model.message');
        expect(message?.data.attempt).toBe(1);
      },
      { INTERLOCK_MODEL_IDLE_MS: '200', INTERLOCK_MODEL_FIRST_BYTE_MS: '200' },
    );
  });

  test('not when it asks for more than a minute: the request fails and says how long', async () => {
    await withGateway(async () => {
      server.answer(refuse(429, overloaded('rate_limit_error'), { 'retry-after': '120' }));
      const session = await house.session(MODEL);
      await session.ask();
      const [failed] = await session.until('model.failed');
      expect(failed?.data).toMatchObject({ category: 'rate_limit', retryAfterMs: 120_000, attempts: 1 });
      expect(server.requests).toHaveLength(1);
    });
  });

  test('not when the key is refused', async () => {
    await withGateway(async () => {
      server.answer(refuse(401, overloaded('authentication_error')));
      const session = await house.session(MODEL);
      await session.ask();
      const [failed] = await session.until('model.failed');
      expect(failed?.data).toMatchObject({ category: 'auth', attempts: 1 });
      expect(server.requests).toHaveLength(1);
    });
  });

  test('and what a broken stream has cost is charged', async () => {
    await withGateway(async () => {
      server.answer(cut(events, events.length - 1), stream(fixture('text')));
      const session = await house.session(MODEL);
      await session.ask();
      await session.until('model.message');
      expect((await session.of('model.retrying'))[0]?.data.usage).toMatchObject({
        inputUncached: 10,
        output: 20,
      });
    });
  });
});

function overloaded(type: string): object {
  return { type: 'error', error: { type, message: `no, and your key is ${KEY}` } };
}

describe('a cancel', () => {
  test('closes the connection to the provider within 250 ms, and the partial text is kept', async () => {
    await withGateway(async () => {
      server.answer(stall(events, HALF));
      const session = await house.session(MODEL);
      const chunks: string[] = [];
      const requested = await session.ask();
      await until(() => server.requests.length === 1);
      const live = house.bus.nc.subscribe(`live.v1.${TENANT}.${session.id}.>`, {
        callback: (_error, message) => {
          chunks.push(message.json<{ text: string }>().text);
        },
      });
      await untilLive(session, requested.envelope.id);
      const at = performance.now();
      house.bus.nc.publish(
        controlSubject.cancel(TENANT, session.id),
        JSON.stringify({ intents: [], requestId: requested.envelope.id, reason: 'person' }),
      );
      const [failed] = await session.until('model.failed');
      await until(() => server.requests[0]?.closedAt !== null);
      expect((server.requests[0]?.closedAt ?? Number.POSITIVE_INFINITY) - at).toBeLessThan(250);
      expect(failed?.data).toMatchObject({
        category: 'model_cancelled',
        partial: 'Two at once.',
        usage: { inputUncached: 10 },
      });
      expect(await session.of('model.message')).toEqual([]);
      expect(await session.of('tool.intent')).toEqual([]);
      live.unsubscribe();
    });
  });
});

/** Text of the attempt has been published, so the gateway has read it. */
async function untilLive(session: Session, requestId: string): Promise<void> {
  const manager = await house.bus.js.jetstreamManager();
  const subject = `live.v1.${TENANT}.${session.id}.text.${requestId}`;
  await until(async () => (await manager.streams.getMessage('LIVE', { last_by_subj: subject })) !== null);
}

describe('the key', () => {
  test('is in no event and no log line, whatever goes wrong', async () => {
    const sessions: Session[] = [];
    await withGateway(async () => {
      const broken = overloaded('invalid_request_error');
      const responders = [
        stream(fixture('text')),
        refuse(400, broken),
        refuse(500, broken),
        refuse(529, `the key ${KEY} is bad`),
        stream(Buffer.from(`event: error\ndata: ${JSON.stringify(broken)}\n\n`)),
        cut(events, HALF, 'reset'),
        stream(Buffer.from(`event: ${KEY}\ndata: {"type":"x"}\n\n`)),
      ];
      for (const responder of responders) {
        server.answer(responder, stream(fixture('text')));
        const session = await house.session(MODEL);
        sessions.push(session);
        await session.ask();
        await until(async () =>
          (await session.events()).some(({ type }) => type === 'model.message' || type === 'model.failed'),
        );
      }
    });
    const logs = await Promise.all(sessions.map((session) => session.events()));
    expect(JSON.stringify(logs)).not.toContain(KEY);
    expect(JSON.stringify(logs)).toContain('[key]');
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join('')).not.toContain(KEY);
    // Nor does a prompt or an answer stand in a log.
    expect(lines.join('')).not.toMatch(/Grüße|Two at once/);
  });
});

test('a large answer goes by way of the artifact store and comes back whole', async () => {
  await withGateway(async () => {
    const text = 'x'.repeat(700_000);
    const [start = '', blockStart = '', ...rest] = eventsOf(fixture('text'));
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
    const body = [
      start,
      blockStart,
      `event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`,
      ...rest.slice(-3),
    ];
    server.answer(stream(Buffer.from(body.join(''))));
    const session = await house.session(MODEL);
    await session.ask();
    const [message] = await session.until('model.message');
    const [part] = (message?.data.parts ?? []) as ModelPart[];
    expect(part?.type === 'text' && part.text.length).toBe(700_000);
  });
});
