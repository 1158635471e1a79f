import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HousedService, readMessages } from '@interlock/kit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventOf, type House, startHouse, until } from './house.ts';
import { proposeOne, registerTools } from './play.ts';
import { command } from './samples.ts';

let house: House;
let dir: string;
let file: string;
const engines: HousedService[] = [];

const reads = command('git log', ['read-only']);
const DENY =
  'version: 1\nrules:\n  - { id: no-git, decision: deny, reason: no git here, when: { command: { program: git } } }\n';

beforeAll(async () => {
  house = await startHouse();
  await registerTools(house);
  dir = await mkdtemp(join(tmpdir(), 'interlock-policy-'));
  file = join(dir, 'managed.yaml');
});
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});
afterAll(async () => {
  await house.stop();
  await rm(dir, { recursive: true, force: true });
});

async function engine(): Promise<void> {
  engines.push(await house.engine({ INTERLOCK_MANAGED_POLICY: file }));
}

/** How often a managed policy came into force. */
async function activations(): Promise<number> {
  const filter = 'ev.v1.-.sys.policy.activated';
  return (await readMessages(house.bus, { filter, fromSeq: 1, leader: true })).length;
}

test('a broken file where none is in force yet: the service does not start', async () => {
  await writeFile(file, 'version: 1\nrules: [{ id: broken');
  await expect(engine()).rejects.toMatchObject({
    code: 'policy_invalid',
    message: expect.stringContaining('line 2'),
  });
  await rm(file);
  await expect(engine()).rejects.toMatchObject({ code: 'policy_invalid' });
});

test('it is activated, followed, and the last good one kept', async () => {
  await writeFile(file, DENY);
  await engine();
  const first = await proposeOne(house, reads);
  expect((await eventOf(house, first, 'tool.approval.denied')).data.rule).toBe('no-git');
  expect(await activations()).toBe(1);

  await writeFile(file, 'version: 1\nrules: [{ id: broken');
  const second = await proposeOne(house, reads);
  expect((await eventOf(house, second, 'tool.approval.denied')).data.rule).toBe('no-git');
  expect(await activations()).toBe(1);

  await writeFile(file, 'version: 1\n');
  await until(async () => (await activations()) === 2);
  const third = await proposeOne(house, reads);
  expect((await eventOf(house, third, 'tool.approval.allowed')).data.by).toMatchObject({ rule: 'reads' });
});

test('a broken file at the start: the last good one stays in force', async () => {
  const before = await activations();
  await writeFile(file, DENY);
  await engine();
  await engines.pop()?.stop();
  await writeFile(file, 'nonsense');
  await engine();
  const played = await proposeOne(house, reads);
  expect((await eventOf(house, played, 'tool.approval.denied')).data.rule).toBe('no-git');
  expect(await activations()).toBe(before + 1);
});

test('an engine without the setting has it in force all the same', async () => {
  engines.push(await house.engine());
  const played = await proposeOne(house, reads);
  expect((await eventOf(house, played, 'tool.approval.denied')).data).toMatchObject({
    rule: 'no-git',
    verdicts: [{ winner: { layer: 'managed' } }],
  });
});

test('two replicas activate a file once', async () => {
  const before = await activations();
  await writeFile(file, 'version: 1\n# once\n');
  await Promise.all([engine(), engine()]);
  expect(await activations()).toBe(before + 1);
});
