import { describe, expect, test } from 'vitest';
import { type Findings, reportOf } from './report.ts';

const clean: Findings = {
  options: { seed: 1, nodes: 1 },
  counts: { byService: { validator: 2, observer: 1 }, failpoints: { 'validator before-ack': 1 } },
  serverKills: 0,
  missed: [],
  failures: [],
  verified: [
    {
      session: 'a',
      end: 'completed',
      intents: 2,
      runs: 1,
      endings: { success: 1, indeterminate: 1 },
      lateFacts: 0,
      effects: 1,
      violations: [],
    },
  ],
  strays: { sent: 1, violations: [] },
  logs: { ends: [], errors: {} },
  seconds: { harmed: 1, settled: 1, longestStart: 1 },
};
const session = clean.verified[0];
if (!session) throw new Error('no session');

describe('a chaos run has passed', () => {
  test('not with a violation, a stray that was lost, a client that failed, a missed failpoint or a service that fell', () => {
    const cases: Partial<Findings>[] = [
      { verified: [{ ...session, violations: ['a: 2 facts'] }] },
      { strays: { sent: 1, violations: ['the stray 4 was quarantined 0 times'] } },
      { failures: ['a: the client failed'] },
      { missed: ['validator before-append'] },
      { logs: { ends: ['validator: ended with 1'], errors: {} } },
    ];
    for (const one of cases) expect(reportOf({ ...clean, ...one }).passed, JSON.stringify(one)).toBe(false);
  });

  test('when all held', () => {
    const report = reportOf(clean);
    expect(report.passed).toBe(true);
    expect(report.kills.total).toBe(3);
    expect(report.indeterminate).toBe(1);
  });
});
