/** The protocol of a call on a real server: permit, claim, fact. */
import { existsSync, readFileSync } from 'node:fs';
import {
  type CancelControlV1,
  controlSubject,
  HOUSE_TENANT,
  LOCAL_TENANT,
  liveSubject,
  rpcSubject,
} from '@interlock/contracts';
import { callRpc, getArtifact, hashOf, listEntries } from '@interlock/kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createExecutor, defineTool } from '../src/index.ts';
import { readFile } from '../src/tools/read-file.ts';
import { definitionOf, NO_EFFECTS } from '../src/tools/tool.ts';
import { type House, pendingOf, startHouse, until } from './house.ts';
import { definitionFor, Story } from './story.ts';
import { sha, testWorkspace } from './workspace.ts';

let house: House;
beforeAll(async () => {
  house = await startHouse();
  await house.executor('fs');
  await house.executor('shell');
});
afterAll(() => house.stop());

const typesOf = async (story: Story, intent: string): Promise<string[]> =>
  (await story.lane(intent)).map(({ type }) => type);
const textOf = (fact: { output: readonly { channel: string; text: string }[] }, channel: string): string =>
  fact.output.find((part) => part.channel === channel)?.text ?? '';

describe('a permit that is wrong is refused, and nothing is claimed', () => {
  const refusal = async (
    options: Parameters<Story['permit']>[2],
    input: unknown = { command: 'touch ran' },
  ) => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const intent = await story.permit('bash', input, options);
    const [fact] = await until(async () => {
      const facts = await story.ofType(intent, 'tool.execution.completed');
      return facts.length > 0 ? facts : null;
    });
    expect(await story.ofType(intent, 'tool.execution.started')).toEqual([]);
    expect(existsSync(made.at('ran'))).toBe(false);
    expect(fact?.authenticity).toBe('verified');
    expect(fact?.data).toMatchObject({
      outcome: 'refused',
      claimSeq: null,
      sandboxLevel: null,
      durationMs: 0,
    });
    return fact?.data.code;
  };

  test('expired', async () => {
    expect(await refusal({ invocation: { expiresAt: new Date(Date.now() - 1).toISOString() } })).toBe(
      'invocation_expired',
    );
  });
  test('signed by somebody else', async () => {
    expect(await refusal({ signedBy: 'observer' })).toBe('bad_signature');
  });
  test('another input than the one that was decided', async () => {
    expect(await refusal({ invocation: { inputSha256: hashOf({ command: 'ls' }) } })).toBe('bad_signature');
  });
  test('for another intent', async () => {
    expect(await refusal({ invocation: { intent: 'other' } })).toBe('bad_signature');
  });
  test('another version of the tool', async () => {
    expect(await refusal({ invocation: { toolDigest: sha('other') } })).toBe('exception');
  });
  test('a sandbox that this host does not have', async () => {
    expect(
      await refusal({ invocation: { sandbox: { levels: ['C'], writable: true, network: false } } }),
    ).toBe('sandbox_unavailable');
  });
  test('a workspace that is not there', async () => {
    expect(await refusal({ invocation: { workspace: '/no/such/workspace' } })).toBe('exception');
  });

  test('a file that changed since', async () => {
    const made = testWorkspace({ 'a.txt': 'now' });
    const story = await Story.open(house, made.root);
    const input = { path: 'a.txt', oldText: 'now', newText: 'then' };
    const baselines = [{ path: made.at('a.txt'), sha256: sha('before') }];
    const intent = await story.permit('edit_file', input, { baselines });
    expect(await story.fact(intent)).toMatchObject({ outcome: 'refused', code: 'stale_baseline' });
    expect(made.text('a.txt')).toBe('now');
    expect(await story.ofType(intent, 'tool.execution.started')).toEqual([]);
  });
});

describe('a good permit', () => {
  test('is claimed, run, told; the claim says under which conditions', async () => {
    const made = testWorkspace({ 'a.txt': 'hello\n' });
    const story = await Story.open(house, made.root);
    const before = house.laneQueries();
    const intent = await story.permit('read_file', { path: 'a.txt' });
    const fact = await story.fact(intent);
    expect(await typesOf(story, intent)).toEqual([
      'tool.intent',
      'tool.validated',
      'tool.approval.allowed',
      'tool.execution.started',
      'tool.execution.completed',
    ]);
    const claim = await story.claim(intent);
    expect(claim).toMatchObject({
      authenticity: 'verified',
      data: {
        pool: 'fs',
        epoch: 1,
        cwd: made.root,
        envNames: [],
        sandboxLevel: 'A',
        limits: readFile.budgets,
      },
    });
    const left = Date.parse(claim.data.leaseUntil) - Date.parse(claim.envelope.time);
    expect(left).toBeGreaterThan(29_000);
    expect(left).toBeLessThanOrEqual(30_000);
    expect(fact).toMatchObject({
      outcome: 'success',
      claimSeq: claim.seq,
      epoch: 1,
      worker: claim.data.worker,
      reads: [{ path: made.at('a.txt'), sha256: sha('hello\n'), range: null }],
    });
    expect(textOf(fact, 'content')).toBe('hello');
    expect(house.laneQueries()).toBe(before);
    await until(async () => (await pendingOf(house.bus, 'fs')) === 0);
  });

  test('of a command: environment by name, effects, output', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const intent = await story.permit('bash', { command: 'echo hi; echo x > new; exit 4', timeoutMs: 5000 });
    expect(await story.fact(intent)).toMatchObject({
      outcome: 'failed',
      code: 'exit_code',
      exitCode: 4,
      output: [{ channel: 'stdout', text: 'hi\n', omittedBytes: 0 }],
      effects: { scope: 'complete', files: [{ path: 'new', change: 'added', after: sha('x\n') }] },
      network: [],
    });
    const claim = await story.claim(intent);
    expect(claim.data.envNames).toContain('PATH');
    expect(claim.data.envNames.join()).not.toMatch(/INTERLOCK|KEY$|SECRET/);
    expect(claim.data.limits.timeoutMs).toBe(5000);
  });

  test('is stopped at its time limit', async () => {
    const story = await Story.open(house, testWorkspace().root);
    const intent = await story.permit('bash', { command: 'echo early; sleep 30', timeoutMs: 300 });
    const fact = await story.fact(intent);
    expect(fact).toMatchObject({ outcome: 'failed', code: 'timeout', output: [{ text: 'early\n' }] });
    expect(fact.durationMs).toBeLessThan(5000);
  });

  test('with more output than may be shown: the whole of it is an artifact', async () => {
    const story = await Story.open(house, testWorkspace().root);
    const intent = await story.permit('bash', { command: 'seq 1 40000' });
    const fact = await story.fact(intent);
    const [part] = fact.output;
    const whole = Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join('');
    expect(part?.omittedBytes).toBe(whole.length - 30_000);
    expect(fact.artifacts).toMatchObject([{ uri: part?.artifact, name: 'stdout', sizeBytes: whole.length }]);
    const bytes = await getArtifact(house.bus, LOCAL_TENANT, part?.artifact ?? '');
    expect(Buffer.from(bytes).toString()).toBe(whole);
  });

  test('of an edit: its diff is an artifact', async () => {
    const made = testWorkspace({ 'a.txt': 'one\n' });
    const story = await Story.open(house, made.root);
    const baselines = [{ path: made.at('a.txt'), sha256: sha('one\n') }];
    const intent = await story.permit(
      'edit_file',
      { path: 'a.txt', oldText: 'one', newText: 'two' },
      { baselines },
    );
    const fact = await story.fact(intent);
    expect(made.text('a.txt')).toBe('two\n');
    const diff = await getArtifact(house.bus, LOCAL_TENANT, fact.effects.files[0]?.diff ?? '');
    expect(Buffer.from(diff).toString()).toContain('-one\n+two');
  });

  test('live output comes while the command runs', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const chunks: string[] = [];
    const subscription = house.bus.nc.subscribe(liveSubject.session(LOCAL_TENANT, story.session), {
      callback: (_error, message) => void chunks.push(message.json<{ text: string }>().text),
    });
    const intent = await story.permit('bash', {
      command: 'echo early; while [ ! -e go ]; do sleep 0.05; done; echo late',
    });
    await until(() => chunks.join('').includes('early'));
    expect((await story.ofType(intent, 'tool.execution.completed')).length).toBe(0);
    made.write('go', '');
    await story.fact(intent);
    await until(() => chunks.join('') === 'early\nlate\n');
    subscription.unsubscribe();
  });

  test('readers of one turn run side by side, writers one after another', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const command = 'test -e busy && echo clash >> clashes; touch busy; sleep 0.2; rm busy';
    const intents = await story.permits([1, 2, 3].map(() => ({ tool: 'bash', input: { command } })));
    for (const intent of intents) expect(await story.fact(intent)).toMatchObject({ outcome: 'success' });
    expect(existsSync(made.at('clashes'))).toBe(false);
  });
});

describe('something on the lane that does not follow', () => {
  test('between the permit and its claim: claimed on the new tail', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const tool = counter(made.at('count'));
    const intent = await story.permit('count', {}, { definition: definitionFor(tool), stray: true });
    const service = await house.executor('test', {}, createExecutor({ pool: 'test', tools: [tool] }));
    expect(await story.fact(intent)).toMatchObject({ outcome: 'success', epoch: 1 });
    expect(readFileSync(made.at('count'), 'utf8')).toBe('x');
    await service.stop();
  });

  test('between the claim and its fact: the fact is appended behind it', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const intent = await story.permit('bash', { command: 'while [ ! -e go ]; do sleep 0.05; done' });
    await story.claim(intent);
    await story.stray(intent);
    made.write('go', '');
    expect(await story.fact(intent)).toMatchObject({ outcome: 'success' });
    expect((await typesOf(story, intent)).slice(-3)).toEqual([
      'tool.execution.started',
      'tool.validation_failed',
      'tool.execution.completed',
    ]);
  });

  test('a call that was withdrawn before its claim is not run', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const tool = counter(made.at('count'));
    const intent = await story.permit('count', {}, { definition: definitionFor(tool) });
    await story.step('observer', intent, { type: 'tool.cancelled', data: { reason: 'run_cancelled' } });
    const service = await house.executor('test', {}, createExecutor({ pool: 'test', tools: [tool] }));
    await until(async () => (await pendingOf(house.bus, 'test')) === 0);
    expect(existsSync(made.at('count'))).toBe(false);
    expect((await typesOf(story, intent)).at(-1)).toBe('tool.cancelled');
    await service.stop();
  });
});

describe('a cancel', () => {
  const cancel = (story: Story, ...intents: string[]): void => {
    const control: CancelControlV1 = { intents, reason: 'person' };
    house.bus.nc.publish(controlSubject.cancel(LOCAL_TENANT, story.session), JSON.stringify(control));
  };

  test('ends a process tree that ignores the request to end', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const command =
      "trap '' TERM; bash -c \"trap '' TERM; while true; do date >> beat; sleep 0.05; done\" & touch up; while true; do sleep 1; done";
    const intent = await story.permit('bash', { command });
    await until(() => existsSync(made.at('up')));
    cancel(story, 'someone-else');
    cancel(story, intent);
    expect(await story.fact(intent)).toMatchObject({
      outcome: 'failed',
      code: 'aborted',
      message: 'stopped because the run was cancelled',
      effects: { files: [{ path: 'beat' }, { path: 'up' }] },
    });
    const size = made.read('beat').length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(made.read('beat').length).toBe(size);
  });

  test('of another session does nothing', async () => {
    const made = testWorkspace();
    const story = await Story.open(house, made.root);
    const other = await Story.open(house, made.root);
    const intent = await story.permit('bash', {
      command: 'touch up; while [ ! -e go ]; do sleep 0.05; done',
    });
    await until(() => existsSync(made.at('up')));
    cancel(other, intent);
    house.bus.nc.publish(controlSubject.cancel(LOCAL_TENANT, story.session), 'not json');
    made.write('go', '');
    expect(await story.fact(intent)).toMatchObject({ outcome: 'success' });
  });
});

describe('what an executor makes known', () => {
  test('its tools and its presence, with the level of its sandbox', async () => {
    const request = house.registered.find(({ pool }) => pool === 'fs');
    expect(request?.tools.map(({ name }) => name)).toEqual([
      ...['read_file', 'list_dir', 'glob', 'grep', 'edit_file', 'write_file', 'read_artifact'],
    ]);
    const shell = house.registered.find(({ pool }) => pool === 'shell');
    expect(shell?.tools).toMatchObject([
      { name: 'bash', pool: 'shell', readOnly: false, resumePolicy: 'never-rerun' },
    ]);
    const present = await until(async () => {
      const entries = await listEntries(house.bus, 'registry', 'executor');
      return entries.some(({ key }) => key.startsWith('executor.fs.')) ? entries : null;
    });
    expect(
      JSON.parse(present.find(({ key }) => key.startsWith('executor.fs.'))?.value ?? '{}'),
    ).toMatchObject({
      sandboxLevel: 'A',
      since: expect.any(String),
    });
  });

  test('what a call would do to the real files', async () => {
    const made = testWorkspace({ 'a.txt': 'one\n' });
    const definition = definitionOf(readFile, 'fs');
    const request = {
      ...{
        session: 's',
        intent: 'i',
        tool: 'read_file',
        toolDigest: hashOf(definition),
        mode: 'normal' as const,
      },
      ...{ workspace: made.root, reads: [] },
    };
    const ask = (input: unknown, more: object = {}) =>
      callRpc(house.bus, {
        subject: rpcSubject.preflight(LOCAL_TENANT, 'fs'),
        rpc: 'preflight',
        request: { ...request, input, ...more },
        timeoutMs: 5000,
      });
    expect(await ask({ path: made.at('a.txt') })).toMatchObject({
      ok: true,
      errors: [],
      accepted: { input: { path: 'a.txt' }, changes: [{ path: '/path' }], baselines: [], sandboxLevel: 'A' },
    });
    expect(await ask({ path: '../x' })).toMatchObject({
      ok: true,
      errors: [{ code: 'path_outside_workspace', path: '/path' }],
    });
    expect(await ask({ path: 'a.txt' }, { toolDigest: sha('x') })).toMatchObject({
      errors: [{ code: 'unknown_tool' }],
    });
    expect(await ask({ path: 'a.txt' }, { workspace: '/etc' })).toMatchObject({
      errors: [{ code: 'path_outside_workspace' }],
    });
    expect(rpcSubject.register(HOUSE_TENANT, 'fs')).toBe('rpc.v1.-.register.fs');
  });
});

/** A tool of one's own: it counts how often it ran. */
function counter(file: string) {
  return defineTool({
    name: 'count',
    version: '1',
    description: 'Counts.',
    input: z.strictObject({}),
    readOnly: false,
    visibleIn: ['normal'],
    needsBaseline: false,
    budgets: { timeoutMs: 10_000, outputBytes: 1000 },
    resumePolicy: 'never-rerun',
    preflight: () => Promise.resolve({ ok: false, errors: [] }),
    execute: async () => {
      const { appendFile } = await import('node:fs/promises');
      await appendFile(file, 'x');
      return { outcome: 'success', output: [], effects: NO_EFFECTS };
    },
  });
}
