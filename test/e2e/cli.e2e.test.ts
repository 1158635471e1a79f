import { createHash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '@interlock/kit/pure';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findViolations, type RawEvent } from '../harness/invariants.ts';
import { createPlace, type Finished, type JsonLine, type Place, ROOT } from './command-line.ts';
import { runTests, SAMPLE_TASK } from './sample.ts';

const SAMPLE_SCRIPT = `scripted:${join(ROOT, 'examples', 'sample-sum.script.json')}`;
const ANSI = '\u001b[';

let place: Place;
beforeEach(async () => {
  place = await createPlace({ 'notes.txt': 'buy milk\n' });
});
afterEach(() => place.remove());

/** Every line of output is JSON and fits the published schema of the command. */
async function expectSchema(command: string, { stdout, lines }: Finished): Promise<void> {
  expect(lines).toHaveLength(stdout.split('\n').filter((text) => text !== '').length);
  const file = join(ROOT, 'clients', 'cli', 'schemas', `${command}.json`);
  const ajv = addFormats.default(new Ajv2020({ strict: false }));
  const fits = ajv.compile(JSON.parse(await readFile(file, 'utf8')));
  for (const line of lines)
    expect(fits(line), `${JSON.stringify(line)}\n${JSON.stringify(fits.errors)}`).toBe(true);
}

function rawEvents(lines: readonly JsonLine[]): readonly RawEvent[] {
  return lines
    .filter(({ seq }) => seq !== undefined)
    .map(({ seq, ...event }) => {
      const hash = createHash('sha256').update(canonicalJson(event)).digest('hex');
      return { seq: Number(seq), event, hash };
    });
}

const resultOf = ({ lines }: Finished): JsonLine => lines.at(-1) ?? {};
const WRITE = { tool: 'write_file', input: { path: 'made.txt', content: 'made\n' } } as const;
const READ = { tool: 'read_file', input: { path: 'notes.txt' } } as const;

describe('run', () => {
  test('--json on the sample: every stored envelope in stream order, then the result; the sample is mended', async () => {
    const sample = join(place.dir, 'sample');
    await cp(join(ROOT, 'examples', 'sample-sum'), sample, { recursive: true });
    const flags = ['--json', '--model', SAMPLE_SCRIPT, '--workspace', sample, '--mode', 'auto-edit'];
    const finished = await place.run(['run', ...flags, SAMPLE_TASK]);
    expect(finished.stderr).toBe('');
    expect(finished.code).toBe(0);
    await expectSchema('run', finished);
    expect(await runTests(sample)).toContain('fail 0');

    const events = rawEvents(finished.lines);
    expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect(findViolations(events, { finished: true })).toEqual([]);
    const lanes = Map.groupBy(
      finished.lines.filter(({ intent }) => intent),
      ({ intent }) => intent,
    );
    expect(lanes.size).toBe(7);
    for (const lane of lanes.values())
      expect(lane.map(({ type }) => type)).toEqual([
        'tool.intent',
        'tool.validated',
        'tool.approval.allowed',
        'tool.execution.started',
        'tool.execution.completed',
        'tool.observation',
      ]);
    const result = resultOf(finished);
    expect(result).toMatchObject({ type: 'result', status: 'completed', usage: { turns: 4, output: 590 } });
    expect(result.text).toContain('concatenated');
    expect(result.scriptUnused).toEqual([4]);

    await afterwards(finished, String(result.session));
  });

  /** What the other commands say of the session, each with a house of its own on the same record. */
  async function afterwards(ran: Finished, session: string): Promise<void> {
    const events = await place.run(['events', session, '--json']);
    await expectSchema('events', events);
    expect(events.lines).toEqual(ran.lines.slice(0, -1));

    const list = await place.run(['ls', '--json']);
    await expectSchema('ls', list);
    expect(list.lines).toMatchObject([{ session, status: 'completed', turns: 4, firstMessage: SAMPLE_TASK }]);

    const now = await place.run(['show', session, '--json']);
    await expectSchema('show', now);
    const last = Number(ran.lines.at(-2)?.seq);
    const at = await place.run(['show', session, '--at', String(last), '--json']);
    expect(at.stdout).toBe(now.stdout);
    const middle = ran.lines.find(({ type }) => type === 'tool.execution.started');
    const then = await place.run(['show', session, '--at', String(middle?.seq)]);
    expect(JSON.parse(then.stdout)).toMatchObject({ throughSeq: middle?.seq, status: 'waiting_for_tool' });

    const again = await place.run(['attach', session, '--json']);
    expect(again.code).toBe(0);
    expect(again.lines).toEqual(ran.lines);
  }

  test('for people: progress on stderr, the answer on stdout, no control sequence where nothing is a terminal', async () => {
    const model = await place.script([{ parts: [READ] }, { parts: [{ text: 'Buy \u001b[31mmilk\u0007.' }] }]);
    const finished = await place.run(['run', '--model', model, 'What do the notes say?']);
    expect(finished.code).toBe(0);
    expect(finished.stderr).toContain(
      'read_file notes.txt → proposed → validated → allowed by default/reads',
    );
    expect(finished.stderr).toContain('rests on 1 recorded observation');
    expect(finished.stdout.trim()).toBe('Buy milk.');
    expect(finished.stdout + finished.stderr).not.toContain(ANSI);
    const quiet = await place.run(['run', '-p', '--model', model, 'What do the notes say?']);
    expect(quiet.stderr).toBe('');
    expect(quiet.stdout.trim()).toBe('Buy milk.');
  });

  test('3 when a rule of --policy denies the last call; 6 at the limit of turns; 1 when the model fails', async () => {
    const policy = join(place.dir, 'policy.yaml');
    await writeFile(
      policy,
      'version: 1\nrules:\n  - id: no-reading\n    decision: deny\n    reason: Not here.\n    when: { tool: read_file }\n',
    );
    const once = await place.script([{ parts: [READ] }, { parts: [{ text: 'I may not.' }] }]);
    const denied = await place.run(['run', '--json', '--model', once, '--policy', policy, 'read']);
    expect(denied.code).toBe(3);
    expect(resultOf(denied)).toMatchObject({ status: 'completed', text: 'I may not.' });
    const refusal = denied.lines.find(({ type }) => type === 'tool.approval.denied');
    expect(refusal).toMatchObject({ data: { rule: 'no-reading' } });

    const limited = await place.run(['run', '--json', '--model', once, '--max-turns', '1', 'read']);
    expect(limited.code).toBe(6);
    expect(resultOf(limited)).toMatchObject({ status: 'max_turns' });

    const empty = await place.script([{ when: { turn: 9 }, parts: [{ text: 'never' }] }]);
    const failed = await place.run(['run', '--json', '--model', empty, 'read']);
    expect(failed.code).toBe(1);
    expect(resultOf(failed)).toMatchObject({ status: 'model_failed', error: { code: 'script_no_match' } });
  });

  test('--approve all and none answer every ask; a person who rejects is no rule that denies', async () => {
    const model = await place.script([{ parts: [WRITE] }, { parts: [{ text: 'So be it.' }] }]);
    const approved = await place.run(['run', '--json', '--model', model, '--approve', 'all', 'write']);
    expect(approved.code).toBe(0);
    expect(await readFile(join(place.workspace, 'made.txt'), 'utf8')).toBe('made\n');
    expect(approved.lines.find(({ type }) => type === 'tool.approval.allowed')).toMatchObject({
      data: { by: { kind: 'answer' } },
    });
    const other = { tool: 'write_file', input: { path: 'other.txt', content: 'other\n' } };
    const more = await place.script([{ parts: [other] }, { parts: [{ text: 'So be it.' }] }]);
    const rejected = await place.run(['run', '--json', '--model', more, '--approve', 'none', 'write']);
    expect(rejected.code).toBe(0);
    expect(rejected.lines.find(({ type }) => type === 'tool.approval.denied')).toMatchObject({
      data: { kind: 'rejected' },
    });
  });

  test('an interrupt cancels the call and the run, and ends with 130; the record says so', async () => {
    const wait = { tool: 'bash', input: { command: 'sleep 60' } };
    const model = await place.script([{ parts: [wait] }, { parts: [{ text: 'never' }] }]);
    const running = place.start(['run', '--json', '--model', model, '--approve', 'all', 'wait']);
    await running.line(({ type }) => type === 'tool.execution.started');
    running.child.kill('SIGINT');
    const finished = await running.done;
    expect(finished.code).toBe(130);
    expect(resultOf(finished)).toMatchObject({ status: 'cancelled' });
    expect(finished.lines.find(({ type }) => type === 'tool.execution.completed')).toMatchObject({
      data: { outcome: 'failed', code: 'aborted' },
    });
    expect(findViolations(rawEvents(finished.lines), { finished: true })).toEqual([]);
  });
});

describe('an ask without a terminal', () => {
  test('ends run with 5; another process approves; attach goes on to the end', async () => {
    const model = await place.script([{ parts: [WRITE] }, { parts: [{ text: 'Written.' }] }]);
    const asked = await place.run(['run', '--json', '--model', model, 'write']);
    expect(asked.code).toBe(5);
    const result = resultOf(asked);
    expect(result).toMatchObject({ status: 'waiting_for_approval' });
    const session = String(result.session);

    const pending = await place.run(['approvals', 'ls', '--json']);
    await expectSchema('approvals-ls', pending);
    expect(pending.lines).toMatchObject([{ session, tool: 'write_file' }]);
    const intent = String(pending.lines[0]?.intent);
    const shown = await place.run(['approvals', 'show', intent]);
    expect(shown.stdout).toContain('made.txt');

    expect((await place.run(['attach', session])).code).toBe(5);
    const approved = await place.run(['approvals', 'approve', intent, '--comment', 'fine', '--json']);
    expect(approved.code).toBe(0);
    await expectSchema('approvals-approve', approved);
    expect((await place.run(['approvals', 'ls', '--json'])).lines).toEqual([]);
    expect((await place.run(['approvals', 'approve', intent])).code).toBe(1);

    const attached = await place.run(['attach', session, '--json']);
    await expectSchema('attach', attached);
    expect(attached.code).toBe(0);
    expect(resultOf(attached)).toMatchObject({ status: 'completed', text: 'Written.' });
    expect(await readFile(join(place.workspace, 'made.txt'), 'utf8')).toBe('made\n');

    const more = await place.run(['attach', session, 'and now?', '--json']);
    expect(more.code).toBe(1);
    expect(resultOf(more)).toMatchObject({ status: 'model_failed' });
  });

  test('a person may edit the call: the edited one runs in its place', async () => {
    const model = await place.script([{ parts: [WRITE] }, { parts: [{ text: 'Written.' }] }]);
    await place.run(['run', '--json', '--model', model, '--session', 'edited', 'write']);
    const [pending] = (await place.run(['approvals', 'ls', '--json'])).lines;
    const input = JSON.stringify({ path: 'other.txt', content: 'other\n' });
    const answered = await place.run([
      'approvals',
      'edit',
      String(pending?.intent),
      '--input',
      input,
      '--json',
    ]);
    expect(answered.lines).toMatchObject([{ verdict: 'edit', session: 'edited' }]);
    expect((await place.run(['attach', 'edited', '--json'])).code).toBe(0);
    expect(await readFile(join(place.workspace, 'other.txt'), 'utf8')).toBe('other\n');
    await expect(readFile(join(place.workspace, 'made.txt'))).rejects.toThrow('ENOENT');
  });
});

describe('up', () => {
  const SERVICES = [
    'event-store',
    'executor-fs',
    'executor-shell',
    'observer',
    'policy-engine',
    'provider-gateway',
    'validator',
  ];

  test('--json prints a line a process; another process runs in that house; SIGTERM ends it in order', async () => {
    const house = place.start(['up', '--json']);
    await house.line(({ service }) => service === 'validator');
    const model = await place.script([{ parts: [READ] }, { parts: [{ text: 'Milk.' }] }]);
    const ran = await place.run(['run', '--json', '--model', model, '--session', 'in-house', 'read']);
    expect(ran.code).toBe(0);
    const again = await place.run(['up', '--json']);
    expect(again.code).toBe(1);
    expect(again.lines).toMatchObject([{ type: 'error', code: 'house_running' }]);
    const checks = await place.run(['doctor', '--json']);
    expect(checks.lines.find(({ name }) => name === 'house')).toMatchObject({ state: 'ok' });
    const stop = place.start(['events', '-f', 'in-house', '--json']);
    await stop.line(({ type }) => type === 'run.finished');
    stop.child.kill('SIGINT');
    expect((await stop.done).code).toBe(130);
    house.child.kill('SIGTERM');
    const finished = await house.done;
    expect(finished.code).toBe(0);
    await expectSchema('up', finished);
    expect(finished.lines.map(({ service }) => String(service)).toSorted()).toEqual(SERVICES);
    expect((await place.run(['ls', '--json'])).lines).toMatchObject([{ session: 'in-house' }]);
  });

  test('--processes: a service each; one that is killed comes back, and a run in between goes through', async () => {
    const house = place.start(['up', '--processes', '--json']);
    const lines = await Promise.all(SERVICES.map((name) => house.line(({ service }) => service === name)));
    expect(new Set(lines.map(({ pid }) => pid)).size).toBe(SERVICES.length);
    for (const { health } of lines) expect((await fetch(`${String(health)}/readyz`)).status).toBe(200);
    const slow = { tool: 'bash', input: { command: 'sleep 2' } };
    const model = await place.script([{ parts: [READ, slow] }, { parts: [{ text: 'Milk.' }] }]);
    const running = place.start(['run', '--json', '--model', model, '--approve', 'all', 'read']);
    await running.line(({ type }) => type === 'tool.execution.started');
    // The one that the client itself asks, and the one that carries the run.
    for (const name of ['event-store', 'observer'])
      process.kill(Number(lines.find(({ service }) => service === name)?.pid), 'SIGKILL');
    const finished = await running.done;
    expect(finished.stderr).toBe('');
    expect(finished.code).toBe(0);
    expect(findViolations(rawEvents(finished.lines), { finished: true })).toEqual([]);
    house.child.kill('SIGINT');
    expect((await house.done).code).toBe(0);
  });
});

describe('two commands on one state folder', () => {
  test('do not meet in a private house: the second one keeps its record beside it, and says so', async () => {
    const wait = { tool: 'bash', input: { command: 'sleep 60' } };
    const slow = await place.script([{ parts: [wait] }]);
    const first = place.start(['run', '--json', '--model', slow, '--approve', 'all', 'wait']);
    await first.line(({ type }) => type === 'tool.execution.started');
    const model = await place.script([{ parts: [{ text: 'Hello.' }] }]);
    const second = await place.run(['run', '--model', model, 'greet']);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('another command uses');
    first.child.kill('SIGINT');
    expect((await first.done).code).toBe(130);
  });
});

describe('what cannot be done', () => {
  test.each([
    [['nope'], 'usage'],
    [['run'], 'usage'],
    [['run', 'x', '--nope'], 'usage'],
    [['run', 'x', 'y', '--model', 'scripted:a'], 'usage'],
    [['run', 'x'], 'usage'],
    [['run', 'x', '--model'], 'usage'],
    [['run', 'x', '--model', 'openai:gpt'], 'usage'],
    [['run', 'x', '--model', 'scripted:/does/not/exist.json'], 'script_invalid'],
    [['run', 'x', '--workspace', '/does/not/exist'], 'workspace_invalid'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--mode', 'wild'], 'usage'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--approve', 'maybe'], 'usage'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--max-turns', '1.5'], 'usage'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--max-cost', 'much'], 'usage'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--policy', '/does/not/exist.yaml'], 'usage'],
    [
      ['run', 'x', '--model', SAMPLE_SCRIPT, '--policy', SAMPLE_SCRIPT.slice('scripted:'.length)],
      'policy_invalid',
    ],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--session', 'a.b'], 'invalid_id'],
    [['run', 'x', '--model', SAMPLE_SCRIPT, '--session', 'sys'], 'reserved_id'],
    [['attach', 'a b'], 'invalid_id'],
    [['show', '*'], 'invalid_id'],
    [['show', 'a', '--at', '-1'], 'usage'],
    [['events', '>'], 'invalid_id'],
    [['events', 'a', '--from', 'x'], 'usage'],
    [['ls', '--limit', '0'], 'usage'],
    [['approvals'], 'usage'],
    [['approvals', 'edit', 'i', '--input', '{'], 'usage'],
  ] as const)(
    '%j is refused with 2, a code and what to do, before anything is started',
    async (args, code) => {
      const [finished, plain] = await Promise.all([place.run([...args, '--json']), place.run(args)]);
      expect({ exit: finished.code, code: finished.lines.at(-1)?.code }).toEqual({ exit: 2, code });
      expect({ exit: plain.code, stdout: plain.stdout }).toEqual({ exit: 2, stdout: '' });
      expect(plain.stderr).toMatch(new RegExp(`^interlock: .+ \\(${code}\\)\n$`));
    },
  );

  test('a session that is not there, or is there already, is said with 1', async () => {
    const model = await place.script([{ parts: [{ text: 'Hello.' }] }]);
    const run = ['run', '--json', '--model', model, '--session', 'mine', 'greet'];
    expect((await place.run(run)).code).toBe(0);
    const again = await place.run(run);
    expect(again).toMatchObject({ code: 1, lines: [{ type: 'error', code: 'session_exists' }] });
    for (const args of [
      ['show', 'other'],
      ['events', 'other'],
      ['attach', 'other'],
    ]) {
      const missing = await place.run([...args, '--json']);
      expect(missing).toMatchObject({ code: 1, lines: [{ type: 'error', code: 'session_not_found' }] });
    }
  });
});

describe('help', () => {
  test.each([
    [[]],
    [['run']],
    [['attach']],
    [['up']],
    [['ls']],
    [['show']],
    [['events']],
    [['doctor']],
    [['demo']],
  ])('%j --help prints to stdout and ends with 0', async (command) => {
    const finished = await place.run([...command, '--help']);
    expect(finished.code).toBe(0);
    expect(finished.stdout).toContain('--json');
    expect(finished.stdout).not.toContain(ANSI);
    expect(finished.stderr).toBe('');
  });

  test('doctor --json: each setting with where it came from, then what was checked', async () => {
    const finished = await place.run(['doctor', '--json', '--tenant', 'acme'], {
      INTERLOCK_MODE: 'read-only',
    });
    expect(finished.code).toBe(0);
    await expectSchema('doctor', finished);
    const setting = (name: string) =>
      finished.lines.find((line) => line.type === 'setting' && line.name === name);
    expect(setting('tenant')).toMatchObject({ value: 'acme', source: 'flag' });
    expect(setting('mode')).toMatchObject({ value: 'read-only', source: 'environment' });
    expect(setting('logLevel')).toMatchObject({ source: 'default' });
    const checks = finished.lines.filter(({ type }) => type === 'check');
    expect(checks.map(({ name }) => name)).toEqual([
      'node',
      'nats-server',
      'sandbox',
      'state folder',
      'model key',
      'house',
    ]);
  });
});
