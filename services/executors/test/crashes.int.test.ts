/** Workers that die, come late, or lose the log: what the lane says in the end, and how often the effect happened. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUCKETS, callOf, leaseKey } from '@interlock/contracts';
import { getKey, type StartService } from '@interlock/kit';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createExecutor, defineTool, type Tool } from '../src/index.ts';
import { NO_EFFECTS } from '../src/tools/tool.ts';
import { type House, type HouseOptions, pendingOf, startHouse, until } from './house.ts';
import { definitionFor, Story } from './story.ts';
import { sha, type TestWorkspace, temporaryFolder, testWorkspace } from './workspace.ts';

/** Leases and redeliveries that a test can wait for. */
const LEASE_MS = 1500;
const SHORT = { INTERLOCK_LEASE_MS: String(LEASE_MS) };
const IMPATIENT: HouseOptions = { ackWaitMs: 1000 };

let house: House;
afterEach(() => house.stop());

const factsOf = async (story: Story, intent: string) => story.ofType(intent, 'tool.execution.completed');
const claimsOf = async (story: Story, intent: string) => story.ofType(intent, 'tool.execution.started');
const settled = (pool: string) => until(async () => (await pendingOf(house.bus, pool)) === 0);

/** A tool that appends an `x` to `count`, then waits until `go` is there. */
function gated(made: TestWorkspace, more: { readOnly?: boolean; waitFor?: string } = {}): Tool {
  return defineTool({
    name: 'gated',
    version: '1',
    description: 'Waits.',
    input: z.strictObject({}),
    readOnly: more.readOnly ?? false,
    visibleIn: ['normal'],
    needsBaseline: false,
    budgets: { timeoutMs: 60_000, outputBytes: 1000 },
    resumePolicy: 'never-rerun',
    preflight: () => Promise.resolve({ ok: false, errors: [] }),
    execute: async (_input, { signal }) => {
      const count = existsSync(made.at('count')) ? made.text('count') : '';
      made.write('count', `${count}x`);
      while (!existsSync(made.at('go')) && !signal.aborted) await sleep(10);
      const stopped = { outcome: 'failed', code: 'aborted', message: String(signal.reason) } as const;
      return { ...(signal.aborted ? stopped : { outcome: 'success' }), output: [], effects: NO_EFFECTS };
    },
  });
}
const poolOf = (tool: Tool): StartService => createExecutor({ pool: 'test', tools: [tool] });

describe('several workers, each message delivered again and again', () => {
  test('every call is claimed once, runs once, and has one fact', async () => {
    house = await startHouse({ ackWaitMs: 300 });
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    await house.executor('shell');
    await house.executor('shell');
    const calls = Array.from({ length: 12 }, (_, index) => ({
      tool: 'bash',
      input: { command: `echo x >> ran-${index}; sleep 0.4` },
    }));
    const intents = await story.permits(calls);
    for (const intent of intents)
      expect(await story.fact(intent, 40_000)).toMatchObject({ outcome: 'success', epoch: 1 });
    await settled('shell');
    for (const [index, intent] of intents.entries()) {
      expect(await claimsOf(story, intent)).toHaveLength(1);
      expect(await factsOf(story, intent)).toHaveLength(1);
      expect(made.text(`ran-${index}`)).toBe('x\n');
    }
    const workers = new Set(
      (await Promise.all(intents.map((intent) => story.claim(intent)))).map(({ data }) => data.worker),
    );
    expect(workers.size).toBe(2);
  }, 60_000);

  test('a call that outlives its first lease renews it, and is left to its holder', async () => {
    house = await startHouse({ ackWaitMs: 300 });
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const tool = gated(made);
    await house.executor('test', SHORT, poolOf(tool));
    await house.executor('test', SHORT, poolOf(tool));
    const intent = await story.permit('gated', {}, { definition: definitionFor(tool) });
    const claim = await story.claim(intent);
    const lease = await until(() => getKey(house.bus, BUCKETS.leases, leaseKey('test', intent)));
    expect(JSON.parse(lease.value)).toMatchObject({ worker: claim.data.worker, epoch: 1 });
    await sleep(2 * LEASE_MS);
    expect(await factsOf(story, intent)).toEqual([]);
    made.write('go', '');
    expect(await story.fact(intent)).toMatchObject({ outcome: 'success', worker: claim.data.worker });
    await settled('test');
    expect(made.text('count')).toBe('x');
    expect(await claimsOf(story, intent)).toHaveLength(1);
  });

  test('a short call writes no lease', async () => {
    house = await startHouse();
    const made = testWorkspace({ a: 'a' });
    const story = await Story.open(house, made.root);
    await house.executor('fs');
    const intent = await story.permit('read_file', { path: 'a' });
    await story.fact(intent);
    expect(await getKey(house.bus, BUCKETS.leases, leaseKey('fs', intent))).toBeNull();
  });
});

describe('a worker that is killed', () => {
  interface Crash {
    readonly pool: string;
    readonly failpoint: string;
    readonly tool: string;
    readonly input: (made: TestWorkspace) => unknown;
    readonly options?: (made: TestWorkspace) => Parameters<Story['permit']>[2];
  }
  /** The first worker dies at the failpoint; a second one finds what it left. */
  async function crash({ pool, failpoint, tool, input, options }: Crash, files: Record<string, string> = {}) {
    house = await startHouse(IMPATIENT);
    const made = testWorkspace(files);
    const story = await Story.open(house, made.root);
    const first = await house.executorProcess(pool, { ...SHORT, INTERLOCK_FAILPOINT: failpoint });
    const intent = await story.permit(tool, input(made), options?.(made));
    expect(await first.ended).toBe('SIGKILL');
    await house.executor(pool, SHORT);
    const fact = await story.fact(intent);
    await settled(pool);
    expect(await factsOf(story, intent)).toHaveLength(1);
    return { made, story, intent, fact, claims: await claimsOf(story, intent) };
  }
  const bash = { pool: 'shell', tool: 'bash', input: () => ({ command: 'echo x >> ran' }) };
  const edit = {
    pool: 'fs',
    tool: 'edit_file',
    input: () => ({ path: 'a', oldText: 'one', newText: 'two' }),
    options: (made: TestWorkspace) => ({ baselines: [{ path: made.at('a'), sha256: sha('one\n') }] }),
  };

  test('before its claim: the next one runs the call', async () => {
    const { made, fact, claims } = await crash({
      ...bash,
      failpoint: 'before-append:tool.execution.started',
    });
    expect(fact).toMatchObject({ outcome: 'success', epoch: 1 });
    expect(claims).toHaveLength(1);
    expect(made.text('ran')).toBe('x\n');
  });

  test('after its claim, before the effect: unknown, and not run', async () => {
    const { made, fact, claims } = await crash({ ...bash, failpoint: 'before-effect:bash' });
    expect(fact).toMatchObject({
      outcome: 'indeterminate',
      code: 'outcome_unknown',
      claimSeq: claims[0]?.seq,
    });
    expect(fact.probe).toBeUndefined();
    expect(claims).toHaveLength(1);
    expect(existsSync(made.at('ran'))).toBe(false);
  });

  test('after the effect, before its fact: unknown, and not run again', async () => {
    const { made, fact, claims } = await crash({ ...bash, failpoint: 'after-effect:bash' });
    expect(fact).toMatchObject({ outcome: 'indeterminate', code: 'outcome_unknown' });
    expect(claims).toHaveLength(1);
    expect(made.text('ran')).toBe('x\n');
  });

  test('after its fact, before the acknowledgement: nothing more happens', async () => {
    const { made, fact, claims } = await crash({ ...bash, failpoint: 'before-ack' });
    expect(fact).toMatchObject({ outcome: 'success', worker: claims[0]?.data.worker });
    expect(made.text('ran')).toBe('x\n');
  });

  test('with an edit done: the look at the world proves it', async () => {
    const { made, fact, claims } = await crash(
      { ...edit, failpoint: 'after-effect:edit_file' },
      { a: 'one\n' },
    );
    expect(made.text('a')).toBe('two\n');
    expect(fact).toMatchObject({
      outcome: 'success',
      claimSeq: claims[0]?.seq,
      probe: 'a holds exactly what the edit makes of it',
      effects: { files: [{ path: 'a', before: sha('one\n'), after: sha('two\n') }] },
      reads: [{ path: made.at('a'), sha256: sha('two\n') }],
    });
  });

  test('with an edit not done: unknown, with what was seen', async () => {
    const { made, fact } = await crash({ ...edit, failpoint: 'before-effect:edit_file' }, { a: 'one\n' });
    expect(made.text('a')).toBe('one\n');
    expect(fact).toMatchObject({ outcome: 'indeterminate', probe: 'a is as it was before the call' });
  });

  test('with a read: it is run again under the next epoch', async () => {
    const read = { pool: 'fs', tool: 'read_file', input: () => ({ path: 'a' }) };
    const { fact, claims } = await crash({ ...read, failpoint: 'after-effect:read_file' }, { a: 'one\n' });
    expect(claims.map(({ data }) => data.epoch)).toEqual([1, 2]);
    expect(fact).toMatchObject({ outcome: 'success', epoch: 2, claimSeq: claims[1]?.seq });
  });
});

test('an event-store that tells no claims: the lease is judged by the claim’s id, and nothing runs again', async () => {
  house = await startHouse({ ...IMPATIENT, withoutClaims: true });
  const made = testWorkspace({ a: 'one\n' });
  const story = await Story.open(house, made.root);
  const first = await house.executorProcess('fs', {
    ...SHORT,
    INTERLOCK_FAILPOINT: 'after-effect:read_file',
  });
  const intent = await story.permit('read_file', { path: 'a' });
  expect(await first.ended).toBe('SIGKILL');
  await house.executor('fs', SHORT);
  expect(await story.fact(intent)).toMatchObject({ outcome: 'indeterminate' });
  expect(await claimsOf(story, intent)).toHaveLength(1);
});

test('a worker whose claim was taken away tells its fact beside the lane', async () => {
  house = await startHouse();
  const made = testWorkspace();
  const story = await Story.open(house, made.root);
  const tool = gated(made);
  const service = await house.executor('test', {}, poolOf(tool));
  const intent = await story.permit('gated', {}, { definition: definitionFor(tool) });
  const claim = await story.claim(intent);
  await story.step(
    'observer',
    intent,
    {
      type: 'tool.execution.completed',
      data: {
        ...{
          pool: 'test',
          tool: 'gated',
          outcome: 'indeterminate',
          code: 'outcome_unknown',
          worker: 'observer',
        },
        ...{ claimSeq: claim.seq, epoch: 1, sandboxLevel: null, exitCode: null, signal: null, durationMs: 0 },
        ...{
          output: [],
          artifacts: [],
          effects: { files: [], scope: 'none', excluded: [] },
          network: [],
          reads: [],
        },
      },
    },
    'test',
  );
  made.write('go', '');
  const [late] = await until(async () => {
    const found = await story.ofType(intent, 'execution.late');
    return found.length > 0 ? found : null;
  });
  expect(late).toMatchObject({
    authenticity: 'verified',
    data: {
      intent,
      fact: { outcome: 'success', claimSeq: claim.seq },
      why: expect.stringContaining('tool.execution.completed'),
    },
  });
  expect(await story.fact(intent)).toMatchObject({ outcome: 'indeterminate' });
  await settled('test');
  await service.stop();
});

describe('while the log is away', () => {
  const spooled = (directory: string, pool: string): string[] =>
    existsSync(`${directory}/${pool}`)
      ? readdirSync(`${directory}/${pool}`).filter((name) => name.endsWith('.fact.json'))
      : [];

  test('a command ends, its fact waits on disk, signed and private, and is appended when the log is back', async () => {
    house = await startHouse();
    const made = testWorkspace();
    const spool = temporaryFolder('spool');
    const story = await Story.open(house, made.root);
    await house.executor('shell', { INTERLOCK_SPOOL_DIR: spool });
    const intent = await story.permit('bash', { command: 'touch up; sleep 1; seq 1 20000; touch done' });
    await until(() => existsSync(made.at('up')));
    await house.nats.kill();
    const [name = ''] = await until(() => {
      const names = spooled(spool, 'shell');
      return names.length > 0 ? names : null;
    });
    expect(existsSync(made.at('done'))).toBe(true);
    const { statSync } = await import('node:fs');
    expect(statSync(`${spool}/shell/${name}`).mode & 0o777).toBe(0o600);
    expect(statSync(`${spool}/shell`).mode & 0o777).toBe(0o700);
    const record = JSON.parse(readFileSync(`${spool}/shell/${name}`, 'utf8')) as {
      signature: string;
      keyid: string;
    };
    expect(record.signature).toMatch(/^[A-Za-z0-9_-]{86}$/);
    await house.nats.restart();
    const fact = await story.fact(intent, 40_000);
    expect(fact).toMatchObject({
      outcome: 'success',
      effects: { files: [{ path: 'done' }, { path: 'up' }] },
    });
    expect(fact.artifacts).toHaveLength(1);
    expect(await claimsOf(story, intent)).toHaveLength(1);
    await until(() => readdirSync(`${spool}/shell`).length === 0);
    expect(await story.ofType(intent, 'execution.late')).toEqual([]);
  }, 60_000);

  test('the executor is killed too: its next start appends the fact', async () => {
    house = await startHouse(IMPATIENT);
    const made = testWorkspace();
    const spool = temporaryFolder('spool');
    const story = await Story.open(house, made.root);
    const first = await house.executorProcess('shell', { INTERLOCK_SPOOL_DIR: spool });
    const intent = await story.permit('bash', { command: 'touch up; sleep 1; seq 1 20000; echo x >> ran' });
    const claim = await story.claim(intent);
    await until(() => existsSync(made.at('up')));
    await house.nats.kill();
    await until(() => spooled(spool, 'shell').length > 0);
    first.kill('SIGKILL');
    await first.ended;
    await house.nats.restart();
    await house.executor('shell', { INTERLOCK_SPOOL_DIR: spool });
    const fact = await story.fact(intent, 40_000);
    expect(fact).toMatchObject({ outcome: 'success', claimSeq: claim.seq, worker: claim.data.worker });
    expect(fact.artifacts).toHaveLength(1);
    await settled('shell');
    expect(readdirSync(`${spool}/shell`)).toEqual([]);
    expect(made.text('ran')).toBe('x\n');
    expect(await claimsOf(story, intent)).toHaveLength(1);
  }, 60_000);

  test('a spooled fact that somebody changed is not appended', async () => {
    house = await startHouse();
    const made = testWorkspace();
    const spool = temporaryFolder('spool');
    const story = await Story.open(house, made.root);
    const first = await house.executorProcess('shell', { INTERLOCK_SPOOL_DIR: spool });
    const intent = await story.permit('bash', { command: 'touch up; sleep 0.5; exit 1' });
    await until(() => existsSync(made.at('up')));
    await house.nats.kill();
    const [name = ''] = await until(() => {
      const names = spooled(spool, 'shell');
      return names.length > 0 ? names : null;
    });
    first.kill('SIGKILL');
    await first.ended;
    const { writeFileSync } = await import('node:fs');
    const file = `${spool}/shell/${name}`;
    writeFileSync(file, readFileSync(file, 'utf8').replace('"outcome":"failed"', '"outcome":"success"'));
    await house.nats.restart();
    await house.executor('shell', { INTERLOCK_SPOOL_DIR: spool });
    expect(readdirSync(`${spool}/shell`)).toEqual([`${name}.bad`]);
    expect(callOf(await story.state(), intent)?.stage).toBe('started');
  }, 60_000);

  test('longer than the lease: the process tree is ended, and the fact says why', async () => {
    house = await startHouse();
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    await house.executor('shell', { ...SHORT, INTERLOCK_SPOOL_DIR: temporaryFolder('spool') });
    const intent = await story.permit('bash', { command: 'while true; do date >> beat; sleep 0.05; done' });
    await until(() => existsSync(made.at('beat')));
    await house.nats.kill();
    const ended = async (): Promise<boolean> => {
      const size = made.read('beat').length;
      await sleep(300);
      return made.read('beat').length === size;
    };
    await until(ended);
    await house.nats.restart();
    const outcome = await until(async () => {
      const [fact] = await factsOf(story, intent);
      const [late] = await story.ofType(intent, 'execution.late');
      return fact?.data ?? late?.data.fact ?? null;
    }, 40_000);
    expect(outcome).toMatchObject({
      outcome: 'failed',
      code: 'exception',
      message: 'stopped because the claim could not be kept alive',
    });
  }, 60_000);
});

test('an executor that is stopped ends its commands and tells it', async () => {
  house = await startHouse();
  const made = testWorkspace();
  const story = await Story.open(house, made.root);
  const executor = await house.executorProcess('shell');
  const intent = await story.permit('bash', {
    command: "trap '' TERM; while true; do date >> beat; sleep 0.05; done",
  });
  await until(() => existsSync(made.at('beat')));
  const started = performance.now();
  executor.kill('SIGTERM');
  expect(await executor.ended).toBe(0);
  expect(performance.now() - started).toBeLessThan(6000);
  expect(await story.fact(intent)).toMatchObject({
    outcome: 'failed',
    code: 'aborted',
    message: 'stopped because the executor was stopped',
  });
  const size = made.read('beat').length;
  await sleep(300);
  expect(made.read('beat').length).toBe(size);
  await settled('shell');
});
