/** Three servers and a copy of everything on each: the run goes on when one of them is lost. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { assertSound, play } from '../harness/session.ts';
import { copyOfSample, runTests, sampleTurns } from './sample.ts';

let house: TestHouse;
beforeAll(async () => {
  house = await startTestHouse({ nats: 3 });
});
afterAll(() => house?.stop());

test('the sample is mended though a server is lost while a call runs', async () => {
  const workspace = await copyOfSample(house);
  let killed = false;
  const played = await play(await house.client(), {
    turns: await sampleTurns(),
    workspace,
    onEvent: async ({ type }) => {
      if (type !== 'tool.execution.started' || killed) return;
      killed = true;
      await house.nats.kill(2);
    },
  });
  expect(played.state.lastRun).toMatchObject({ reason: 'completed' });
  assertSound(played);
  expect(await runTests(workspace)).toMatch(/fail 0/);
  await house.nats.restart(2);
});
