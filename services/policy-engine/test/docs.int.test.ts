/** The page on policy and its example: what they show loads, decides as they say, and runs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Effect } from '@interlock/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultBundle, describeProblems, evaluatePolicy, loadBundle, policyOf } from '../src/index.ts';
import { eventOf, type House, startHouse } from './house.ts';
import { proposeOne, registerTools } from './play.ts';
import { command, edit, facts } from './samples.ts';

const docs = join(import.meta.dirname, '..', '..', '..', 'docs');
const page = readFileSync(join(docs, 'policy.md'), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');

function decide(block: number, call = command('x', []), layer: 'user' | 'managed' = 'user') {
  const loaded = loadBundle(blocks[block] ?? '');
  if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
  const { bundle } = loaded;
  const policy = policyOf([{ layer, digest: bundle.digest, bundle }, defaultBundle()]);
  const { verdict, terms } = evaluatePolicy(policy, facts(call));
  return { decision: verdict.decision, rule: verdict.winner?.rule, terms };
}

describe('the rules of the page', () => {
  test('all of them load', () => {
    expect(blocks).toHaveLength(3);
    for (const block of blocks) expect(loadBundle(block)).toMatchObject({ ok: true });
  });

  test('a rule file', () => {
    const publish = (host: string, effects: Effect[]) => {
      const call = command('npm publish', effects);
      return { ...call, assessment: { ...call.assessment, hosts: [host] } };
    };
    expect(decide(0, command('git push --force', ['network']))).toMatchObject({
      decision: 'deny',
      rule: 'no-force-push',
    });
    expect(decide(0, publish('registry.example.com', ['network']))).toMatchObject({
      decision: 'allow',
      rule: 'our-registry',
    });
    expect(decide(0, publish('evil.example', ['network'])).decision).toBe('ask');
    expect(decide(0, publish('registry.example.com', ['network', 'reads-secrets'])).decision).toBe('deny');
    expect(decide(0, edit('db/migrations/1.sql'))).toMatchObject({
      decision: 'ask',
      rule: 'migrations',
      terms: { approvers: ['bob', 'carol'], grants: false, expiresMs: 7_200_000 },
    });
    expect(decide(0, command('npm run release', ['network'])).terms.grants).toBe(false);
  });

  test('an allow list', () => {
    expect(decide(1, command('ls', ['read-only']))).toMatchObject({ decision: 'allow', rule: 'readers' });
    expect(decide(1, command('npm test', ['runs-project-code']))).toMatchObject({
      decision: 'ask',
      rule: 'default',
    });
  });

  test('what allows covers the whole, what stops finds its case', () => {
    const both: Effect[] = ['runs-project-code', 'deletes'];
    expect(decide(2, command('npm test -- -u', ['runs-project-code']))).toMatchObject({
      decision: 'allow',
      rule: 'tests',
    });
    expect(decide(2, command('npm test && make clean', both)).decision).toBe('ask');
    expect(decide(2, command('npm testbed', ['unknown'])).decision).toBe('ask');
    expect(decide(2, command('ls && /bin/rm x', ['deletes']))).toMatchObject({
      decision: 'deny',
      rule: 'no-rm',
    });
  });
});

describe('the example engine', () => {
  let house: House;
  let engine: ChildProcess;

  beforeAll(async () => {
    house = await startHouse();
    await registerTools(house);
    const example = join(docs, 'examples', 'policy-engine.ts');
    const hook = fileURLToPath(new URL('./resolve-here.ts', import.meta.url));
    engine = spawn(process.execPath, ['--import', hook, example], {
      env: { PATH: process.env.PATH, NATS_URL: house.nats.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (engine.stdout) await once(engine.stdout, 'data');
    await house.engine({ INTERLOCK_POLICY_ENGINES: 'production' });
  });
  afterAll(async () => {
    engine.kill();
    await house.stop();
  });

  test('answers as the published schema says', async () => {
    const file = join(docs, '..', 'contracts', 'schemas', 'rpc', 'policy.evaluate.reply.v1.json');
    const published = z.fromJSONSchema(JSON.parse(readFileSync(file, 'utf8')));
    const request = JSON.stringify(facts(command('npm i', ['installs-packages', 'network'])));
    const answer = await house.bus.request('rpc.v1.policy.evaluate.production', request, { timeoutMs: 5000 });
    expect(published.parse(answer.json())).toMatchObject({
      ok: true,
      engine: 'production',
      decision: 'ask',
      winner: { rule: 'packages' },
    });
    const nonsense = await house.bus.request('rpc.v1.policy.evaluate.production', '{}', { timeoutMs: 5000 });
    expect(published.parse(nonsense.json())).toMatchObject({
      ok: false,
      code: 'internal',
    });
  });

  test('denies in the house what the rules would ask', async () => {
    const call = command('psql -h db.prod.example', ['network']);
    const played = await proposeOne(house, {
      ...call,
      assessment: { ...call.assessment, hosts: ['db.prod.example'] },
    });
    const { data } = await eventOf(house, played, 'tool.approval.denied');
    expect(data).toMatchObject({
      kind: 'rule',
      rule: 'no-production',
      reason: 'It talks to db.prod.example.',
    });
  });

  test('and lets pass what it has nothing against', async () => {
    const played = await proposeOne(house, command('git log', ['read-only']));
    expect((await eventOf(house, played, 'tool.approval.allowed')).data.verdicts).toHaveLength(2);
  });
});
