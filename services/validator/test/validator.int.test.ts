import type { PreflightReplyV1, PreflightRequestV1 } from '@interlock/contracts';
import { appendInbox, type HousedService, hashOf, systemClock, systemIds } from '@interlock/kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  entriesOf,
  type House,
  ofType,
  provisionDurable,
  put,
  settled,
  startHouse,
  turnOf,
  until,
} from './house.ts';
import { accepted, digestOf, readFile } from './samples.ts';

let house: House;
let validator: HousedService;
let pool: { stop(): Promise<void> };
/** What the pool says; a test may change it. */
let says: (request: PreflightRequestV1) => PreflightReplyV1 | Promise<PreflightReplyV1>;
let asked: PreflightRequestV1[];

const read = (path = 'a') => ({ tool: 'read_file', input: { path } });
const write = { tool: 'write_file', input: { path: 'a', content: '' } };

beforeAll(async () => {
  house = await startHouse();
});
beforeEach(async () => {
  says = ({ input }) => accepted(input);
  asked = [];
  pool = house.pool((request) => {
    asked.push(request);
    return says(request);
  });
  validator = await house.validator();
});
afterEach(async () => {
  await validator.stop();
  await pool.stop();
});
afterAll(() => house.stop());

async function failed(turn: Awaited<ReturnType<typeof turnOf>>, index = 0) {
  const verdict = await turn.verdict(index);
  if (verdict.type !== 'tool.validation_failed') throw new Error('it was validated');
  return verdict.data.errors;
}

describe('refused without asking anybody', () => {
  test.each([
    [
      'arguments that are not JSON',
      { tool: 'read_file', input: '{"path":', text: true as const },
      'malformed_arguments',
    ],
    ['arguments that do not fit', { tool: 'read_file', input: { file: 'a' } }, 'schema_mismatch'],
    ['an unknown tool', { tool: 'raed_file', input: { path: 'a' } }, 'unknown_tool'],
    ['a tool that is not shown', { tool: 'secret_tool', input: { path: 'a' } }, 'tool_not_visible'],
  ])('%s', async (_name, call, code) => {
    const turn = await turnOf(house, [call]);
    await turn.derive(0);
    const errors = await failed(turn);
    expect(errors[0]?.code).toBe(code);
    if (code === 'unknown_tool') expect(errors[0]?.advice).toContain('"read_file"');
    expect(asked).toEqual([]);
  });

  test('a writing tool in a read-only session', async () => {
    const turn = await turnOf(house, [write], { mode: 'read-only' });
    await turn.derive(0);
    expect((await failed(turn))[0]?.code).toBe('tool_not_visible');
  });

  test('a used-up budget', async () => {
    const turn = await turnOf(house, [read()], { budgets: { maxTokens: 1000 } });
    await turn.derive(0);
    expect((await failed(turn))[0]?.code).toBe('budget_exhausted');
  });
});

describe('the pool', () => {
  test('accepts: normalised input and hash, digest, pool, assessment, sandbox', async () => {
    says = () => accepted({ path: 'normal' });
    const turn = await turnOf(house, [read('./normal')]);
    await turn.derive(0);
    const verdict = await turn.verdict(0);
    expect(verdict).toMatchObject({
      type: 'tool.validated',
      envelope: { run: `run-${turn.session}`, turn: 1 },
      data: {
        tool: 'read_file',
        pool: 'fs',
        toolDigest: digestOf(readFile),
        input: { path: 'normal' },
        inputSha256: hashOf({ path: 'normal' }),
        sandboxLevel: 'A',
      },
    });
    const [intent] = ofType(await entriesOf(house, turn.session), 'tool.intent');
    expect(verdict.envelope.causationid).toBe(intent?.envelope.id);
    expect(asked).toMatchObject([
      { input: { path: './normal' }, workspace: '/home/dev/app', mode: 'normal', reads: [] },
    ]);
  });

  test('refuses: its errors as they are', async () => {
    const error = { path: '/path', code: 'file_not_found', message: 'No.', advice: 'Look.' } as const;
    says = () => ({ ok: true, errors: [error] });
    const turn = await turnOf(house, [read()]);
    await turn.derive(0);
    expect(await failed(turn)).toEqual([error]);
  });

  test('is absent until the deadline: unavailable', async () => {
    await pool.stop();
    await validator.stop();
    validator = await house.validator({ INTERLOCK_PREFLIGHT_DEADLINE_MS: '300' });
    const turn = await turnOf(house, [read()]);
    await turn.derive(0);
    const [error] = await failed(turn);
    expect(error).toMatchObject({ code: 'pool_unavailable', message: expect.stringContaining('"fs"') });
  });

  test('is late, then absent: unavailable', async () => {
    says = () => new Promise(() => undefined);
    await validator.stop();
    validator = await house.validator({
      INTERLOCK_PREFLIGHT_DEADLINE_MS: '300',
      INTERLOCK_PREFLIGHT_TIMEOUT_MS: '100',
    });
    const turn = await turnOf(house, [read()]);
    await turn.derive(0);
    expect((await failed(turn))[0]?.code).toBe('pool_unavailable');
    expect(asked.length).toBeGreaterThan(1);
    // The handler never returns; a fresh pool for the tests that follow.
    pool = { stop: () => Promise.resolve() };
  });

  test('starts late: the call waits for it', async () => {
    await pool.stop();
    const turn = await turnOf(house, [read()]);
    await turn.derive(0);
    const later = house.pool(({ input }) => accepted(input));
    expect((await turn.verdict(0)).type).toBe('tool.validated');
    await later.stop();
  });

  test('time in which no validator listened is not held against it', async () => {
    await validator.stop();
    await pool.stop();
    const turn = await turnOf(house, [read()]);
    await turn.derive(0);
    const stored = Date.now();
    await until(() => Date.now() > stored + 400);
    validator = await house.validator({ INTERLOCK_PREFLIGHT_DEADLINE_MS: '350' });
    const later = house.pool(({ input }) => accepted(input));
    expect((await turn.verdict(0)).type).toBe('tool.validated');
    await later.stop();
  });
});

describe('schedule', () => {
  test('neighbouring readers are asked about side by side, and the barrier waits', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let waiting = 0;
    says = async ({ input }) => {
      waiting += 1;
      if (waiting === 3) release();
      await gate;
      return accepted(input);
    };
    const turn = await turnOf(house, [read('a'), read('b'), read('c'), write, read('d')]);
    await turn.derive(0, 1, 2, 3, 4);
    // None of the three is answered before all of them are asked.
    for (const index of [0, 1, 2]) await turn.verdict(index);
    await settled(house);
    expect([...(await turn.verdicts())].sort()).toEqual([0, 1, 2]);
    await turn.observe(0);
    await turn.observe(1);
    await settled(house);
    expect(await turn.verdicts()).toHaveLength(3);
    await turn.observe(2);
    await turn.verdict(3);
    await settled(house);
    expect(await turn.verdicts()).toHaveLength(4);
    await turn.observe(3);
    await turn.verdict(4);
  });

  test('a call that waits is acked at once, and taken up however late it is freed', async () => {
    const turn = await turnOf(house, [write, write]);
    await turn.derive(0, 1);
    await turn.verdict(0);
    // Its delivery is over: no redelivery limit counts while a person thinks.
    await settled(house);
    expect(await turn.verdicts()).toEqual([0]);
    await validator.stop();
    validator = await house.validator();
    await turn.observe(0);
    expect((await turn.verdict(1)).type).toBe('tool.validated');
  });

  test('an intent that is derived after it was freed is taken up by its own delivery', async () => {
    const turn = await turnOf(house, [write, write]);
    await turn.derive(0);
    await turn.verdict(0);
    await turn.observe(0);
    await settled(house);
    await turn.derive(1);
    expect((await turn.verdict(1)).type).toBe('tool.validated');
  });

  test('an observation frees a whole group, also when the pool is silent for some of it', async () => {
    const silent = new Set(['b']);
    says = ({ input }) => {
      const { path } = input as { path: string };
      return silent.has(path) ? { ok: false, code: 'internal', message: 'not now' } : accepted(input);
    };
    const turn = await turnOf(house, [write, read('a'), read('b')]);
    await turn.derive(0, 1, 2);
    await turn.verdict(0);
    await turn.observe(0);
    await turn.verdict(1);
    silent.clear();
    expect((await turn.verdict(2)).type).toBe('tool.validated');
    await settled(house);
    expect([...(await turn.verdicts())].sort()).toEqual([0, 1, 2]);
  });

  test('nothing of a cancelled run is validated', async () => {
    const turn = await turnOf(house, [write, write]);
    await turn.derive(0, 1);
    await turn.verdict(0);
    await put(
      house,
      'observer',
      { tenant: 'local', session: turn.session, lane: 'i', intent: turn.intents[0] },
      {
        type: 'tool.cancelled',
        run: `run-${turn.session}`,
        turn: 1,
        data: { reason: 'run_cancelled' },
      },
    );
    const client = { service: 'client', instance: 'test', clock: systemClock, ids: systemIds };
    await appendInbox(
      house.bus,
      client,
      { tenant: 'local', session: turn.session },
      {
        type: 'run.cancel',
        data: { reason: 'person', by: 'ada' },
      },
    );
    await turn.observe(0);
    await settled(house);
    expect(await turn.verdicts()).toEqual([0]);
  });
});

describe('delivered again', () => {
  test('everything so far appends nothing', async () => {
    const last = async () => (await entriesOfAll()).at(-1);
    await settled(house);
    const before = await last();
    await validator.stop();
    await house.bus.request('$JS.API.CONSUMER.DELETE.EV.validator', '', { timeoutMs: 2000 });
    await provisionDurable(house.bus);
    validator = await house.validator();
    await settled(house);
    expect(await last()).toBe(before);
  });

  test('two replicas: one word on each call', async () => {
    const other = await house.validator();
    const turn = await turnOf(
      house,
      Array.from({ length: 10 }, (_, index) => read(`f${index}`)),
    );
    await turn.derive(...Array.from({ length: 10 }, (_, index) => index));
    for (let index = 0; index < 10; index++) await turn.verdict(index);
    await settled(house);
    expect(new Set(await turn.verdicts()).size).toBe(10);
    expect(await turn.verdicts()).toHaveLength(10);
    await other.stop();
  });

  async function entriesOfAll(): Promise<number[]> {
    const info = await house.bus.request('$JS.API.STREAM.INFO.EV', '', { timeoutMs: 2000 });
    return [info.json<{ state: { last_seq: number } }>().state.last_seq];
  }
});

test('a large input goes through whole', async () => {
  const content = 'x'.repeat(200_000);
  const turn = await turnOf(house, [{ tool: 'write_file', input: { path: 'a', content } }]);
  await turn.derive(0);
  const verdict = await turn.verdict(0);
  expect(verdict.type === 'tool.validated' && verdict.data.input).toEqual({ path: 'a', content });
});
