import { expect, test } from 'vitest';
import { FAILPOINT_PLAN, runChaos } from './chaos.ts';

const KILLS = 200;
const seed = Number(process.env.INTERLOCK_CHAOS_SEED ?? 20_261_130);

// Every service is killed at random and at each of its failpoints, under load, with messages, cancels and answers of
// people in between. What it found is in the report; `npm run chaos -- --seed N` does it again.
test(`${KILLS} kills of all services: no second effect, one observation an intent, every run at rest (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const report = await runChaos({
    seed,
    kills: KILLS,
    nodes: 1,
    serverKills: 0,
    sessions: 24,
    gapMs: 400,
    settleMs: 180_000,
    progress: () => undefined,
  });
  const summary = JSON.stringify(report, null, 1);
  expect(report.violations, summary).toEqual([]);
  expect(report.unexpectedEnds, summary).toEqual([]);
  expect(report.missedFailpoints, summary).toEqual([]);
  expect(report.kills.total).toBeGreaterThanOrEqual(KILLS);
  expect(Object.keys(report.kills.failpoints)).toHaveLength(FAILPOINT_PLAN.length);
  for (const [service, kills] of Object.entries(report.kills.byService))
    expect(kills, service).toBeGreaterThan(0);
  // The load was there, and people took part in it.
  expect(report.sessions).toBeGreaterThanOrEqual(24);
  expect(report.effects).toBeGreaterThan(20);
  expect(Object.keys(report.ends)).toEqual(expect.arrayContaining(['completed', 'cancelled']));
});
