/** The server goes away and comes back, and words of it are lost: nothing runs twice, and nobody waits for ever. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, dataOf, type Played, play } from '../harness/session.ts';
import { bash, onlyIntentOf, turn, whenTold } from './lanes.ts';

let house: TestHouse;
let client: RuntimeContext;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
});
afterAll(() => house?.stop());

const wordsOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

/** Outages one after another, whichever test makes them. */
let lastOutage: Promise<void> = Promise.resolve();
function outage(during: () => Promise<unknown>): Promise<void> {
  lastOutage = lastOutage.then(async () => {
    await house.nats.kill();
    try {
      await during();
    } finally {
      await house.nats.restart();
    }
  });
  return lastOutage;
}

interface Surroundings {
  readonly context?: RuntimeContext;
  /** Done once, when the command has started. */
  readonly meanwhile?: (effects: string) => Promise<unknown>;
}

/** Plays one command and the answer to it. It writes to `n.txt` in a workspace of its own. */
async function runCommand(
  command: string,
  { context = client, meanwhile }: Surroundings,
): Promise<Played & { effects: string }> {
  const workspace = await house.workspace({});
  const file = join(workspace, 'n.txt');
  let started = false;
  const played = await play(context, {
    workspace,
    turns: [turn(bash(command)), whenTold('done', { text: 'Done.' })],
    onEvent: async ({ type }) => {
      if (type !== 'tool.execution.started' || started) return;
      started = true;
      await meanwhile?.(file);
    },
  });
  const effects = await wordsOf(file);
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  expect(finalText(played.state)).toBe('Done.');
  expect(dataOf(played, 'tool.execution.started')).toHaveLength(1);
  expect(dataOf(played, 'tool.execution.completed')).toMatchObject([{ outcome: 'success', exitCode: 0 }]);
  expect(onlyIntentOf(played).types.at(-1)).toBe('tool.observation');
  assertSound(played);
  return { ...played, effects };
}

/** A client that hears no wake-up: every one is lost, the last one too. */
function deaf(context: RuntimeContext): RuntimeContext {
  const { bus } = context;
  const nc = new Proxy(bus.nc, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      if (key !== 'subscribe') return value.bind(target);
      return (subject: string, options: object) =>
        target.subscribe(subject.startsWith('tail.') ? `${bus.inboxPrefix}.nobody` : subject, options);
    },
  });
  return { ...context, bus: { ...bus, nc } };
}

test.concurrent('a command of a minute outlives the server, runs once, and its end is told once', async () => {
  const { effects } = await runCommand('echo x >> n.txt; sleep 60; echo done', {
    meanwhile: () => outage(async () => undefined),
  });
  expect(effects).toBe('x\n');
});

test.concurrent('the server is away when the command ends: the fact waits for it', async ({
  expect: own,
}) => {
  const { effects } = await runCommand('echo x >> n.txt; sleep 1; echo end >> n.txt; echo done', {
    meanwhile: (file) => outage(() => own.poll(() => wordsOf(file), { timeout: 30_000 }).toContain('end')),
  });
  expect(effects).toBe('x\nend\n');
});

test.concurrent('every wake-up is lost, that of the last event too: the client sees the end all the same', async () => {
  const { raw } = await runCommand('echo done', { context: deaf(await house.client()) });
  expect(raw.at(-1)?.event.type).toBe('run.finished');
});

test.concurrent('the server is away while the model answers: the answer is asked for once and stored once', async () => {
  const workspace = await house.workspace({});
  let isAway: Promise<void> | undefined;
  const played = await play(client, {
    workspace,
    turns: [{ ...turn({ text: 'Slowly.' }), delayMs: 1500 }],
    onEvent: ({ type }) => {
      if (type === 'model.attempt.started') isAway ??= outage(async () => undefined);
    },
  });
  await isAway;
  expect(finalText(played.state)).toBe('Slowly.');
  expect(dataOf(played, 'model.attempt.started')).toHaveLength(1);
  assertSound(played);
});
