/** The shipped sample from its task to its answer: every intent has its whole chain, and the project is mended. */
import { createHash } from 'node:crypto';
import { GENESIS_HASH, LOCAL_TENANT, laneFilter } from '@interlock/contracts';
import { readMessages } from '@interlock/kit';
import { finalText, type RuntimeContext } from '@interlock/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, dataOf, play } from '../harness/session.ts';
import { intentsOf } from './lanes.ts';
import { copyOfSample, runTests, SAMPLE_TASK, sampleTurns } from './sample.ts';

const UNBROKEN = [
  'tool.intent',
  'tool.validated',
  'tool.approval.allowed',
  'tool.execution.started',
  'tool.execution.completed',
  'tool.observation',
];

let house: TestHouse;
let client: RuntimeContext;
beforeAll(async () => {
  house = await startTestHouse();
  client = await house.client();
});
afterAll(() => house?.stop());

test('the sample is mended, and every intent has its unbroken chain', async () => {
  const workspace = await copyOfSample(house);
  await expect(runTests(workspace)).rejects.toThrow();
  const played = await play(client, {
    turns: await sampleTurns(),
    workspace,
    task: SAMPLE_TASK,
  });

  expect(played.state.lastRun).toMatchObject({ reason: 'completed', number: 1 });
  // On a host without a sandbox a person is asked before the project's code runs.
  const withoutAsk = (types: readonly string[]) => types.filter((type) => type !== 'tool.approval.asked');
  expect(intentsOf(played).map(({ tool, types }) => ({ tool, types: withoutAsk(types) }))).toEqual(
    ['list_dir', 'read_file', 'bash', 'read_file', 'read_file', 'edit_file', 'bash'].map((tool) => ({
      tool,
      types: UNBROKEN,
    })),
  );
  assertSound(played);
  const exits = dataOf(played, 'tool.execution.completed').map(({ exitCode }) => exitCode);
  expect(exits).toEqual([null, null, 1, null, null, null, 0]);
  expect(finalText(played.state)).toContain('`npm test` passes');
  expect(played.state.scriptUnused).toEqual([4]);
  expect(await runTests(workspace)).toMatch(/fail 0/);

  // The chain holds for the bytes in the stream, not only for what a client makes of them.
  const reader = await house.as('event-store');
  const lanes = [
    { tenant: LOCAL_TENANT, session: played.session.id, lane: 's' } as const,
    ...intentsOf(played).map(
      ({ intent }) => ({ tenant: LOCAL_TENANT, session: played.session.id, lane: 'i', intent }) as const,
    ),
  ];
  for (const lane of lanes) {
    let [seq, hash] = [0, GENESIS_HASH];
    for (const message of await readMessages(reader, { filter: laneFilter(lane), fromSeq: 1 })) {
      expect(JSON.parse(Buffer.from(message.data).toString())).toMatchObject({
        prevseq: seq,
        prevhash: hash,
      });
      seq = message.seq;
      hash = createHash('sha256').update(message.data).digest('hex');
    }
    expect(seq).toBeGreaterThan(0);
  }
});
