import { describe, expect, test } from 'vitest';
import { type ClaimView, decide, type LaneStep, type LaneView, type Situation } from './decide.ts';

const permit = { seq: 10, hash: 'a'.repeat(64) };
const now = 1_000_000;
const step = (type: string, seq = 10): LaneStep => ({ seq, type, id: `id-${seq}`, nonce: `nonce-${seq}` });
const claim = (left: number, more: Partial<ClaimView> = {}): ClaimView => ({
  seq: 11,
  worker: 'other',
  epoch: 1,
  leaseUntilMs: now + left,
  ...more,
});
const lane = (type: string, held: ClaimView | null = null, seq = held?.seq ?? 10): LaneView => ({
  tail: { seq, hash: 'b'.repeat(64) },
  step: step(type, seq),
  claim: held,
});
const bad = { ok: false, code: 'invocation_expired', message: 'too old' } as const;

function given(more: Partial<Situation> = {}): Situation {
  return {
    nowMs: now,
    permit,
    check: { ok: true },
    resumePolicy: 'never-rerun',
    lane: null,
    worker: 'me',
    isRunning: false,
    hasBegun: false,
    isRenewed: false,
    isSettling: false,
    slackMs: 2000,
    ...more,
  };
}

describe('an unclaimed permit', () => {
  test('one that fails its check is refused at the place it was delivered from', () => {
    const decision = decide(given({ check: bad }));
    expect(decision).toEqual({
      kind: 'refuse',
      tail: permit,
      code: 'invocation_expired',
      message: 'too old',
    });
  });

  test('one that fails its check is refused behind a stray', () => {
    const seen = { ...lane('tool.approval.allowed'), tail: { seq: 12, hash: 'c'.repeat(64) } };
    expect(decide(given({ check: bad, lane: seen }))).toMatchObject({ kind: 'refuse', tail: { seq: 12 } });
  });

  test('a good one is claimed without a look at the lane', () => {
    expect(decide(given())).toEqual({ kind: 'claim', tail: permit, epoch: 1 });
  });

  test('behind a stray it is claimed on the new tail', () => {
    const seen = { ...lane('tool.approval.allowed'), tail: { seq: 12, hash: 'c'.repeat(64) } };
    expect(decide(given({ lane: seen }))).toMatchObject({ kind: 'claim', tail: { seq: 12 }, epoch: 1 });
  });

  test('another permit in force: nothing to do', () => {
    expect(decide(given({ lane: lane('tool.approval.allowed', null, 14) })).kind).toBe('ack');
  });

  test.each([
    'tool.cancelled',
    'tool.approval.denied',
    'tool.execution.completed',
    'tool.observation',
    'tool.validation_failed',
    'tool.validated',
    'tool.approval.asked',
  ])('a lane at %s: nothing to do', (type) => {
    expect(decide(given({ lane: lane(type) })).kind).toBe('ack');
  });

  test('a lane on which nothing counts: nothing to do', () => {
    expect(decide(given({ lane: { ...lane('x'), step: null } })).kind).toBe('ack');
  });
});

describe('a claimed permit', () => {
  const started = (held: ClaimView, more: Partial<Situation> = {}) =>
    decide(given({ lane: lane('tool.execution.started', held), ...more }));

  test('this worker is at it: wait', () => {
    expect(started(claim(-60_000), { isRunning: true, resumePolicy: 'rerun-safe' }).kind).toBe('wait');
  });

  test('the lease lives: wait until it has run out, clocks apart', () => {
    expect(started(claim(5000))).toEqual({ kind: 'wait', delayMs: 7000, why: 'its lease is alive' });
    expect(started(claim(-1000)).kind).toBe('wait');
  });

  test('a renewed lease lives: wait', () => {
    expect(started(claim(-60_000), { isRenewed: true }).kind).toBe('wait');
  });

  test('the connection has just come back: the holder gets a moment', () => {
    expect(started(claim(-60_000), { isSettling: true }).kind).toBe('wait');
  });

  test('lapsed, never-rerun: indeterminate without a look', () => {
    const held = claim(-60_000);
    expect(started(held)).toEqual({
      kind: 'indeterminate',
      tail: { seq: 11, hash: 'b'.repeat(64) },
      claim: held,
      probe: false,
    });
  });

  test('lapsed, probe: indeterminate after a look', () => {
    expect(started(claim(-60_000), { resumePolicy: 'probe' })).toMatchObject({
      kind: 'indeterminate',
      probe: true,
    });
  });

  test('lapsed, rerun-safe: claimed again under the next epoch', () => {
    const decision = started(claim(-60_000, { epoch: 3 }), { resumePolicy: 'rerun-safe' });
    expect(decision).toMatchObject({ kind: 'rerun', epoch: 4, tail: { seq: 11 } });
  });

  test('lapsed, rerun-safe, but the permit is no longer good: not run again', () => {
    const decision = started(claim(-60_000), { resumePolicy: 'rerun-safe', check: bad });
    expect(decision).toMatchObject({ kind: 'indeterminate', probe: false });
  });

  test('lapsed, rerun-safe, but the epoch is not known: not run again', () => {
    const decision = started(claim(-60_000, { epoch: null }), { resumePolicy: 'rerun-safe' });
    expect(decision.kind).toBe('indeterminate');
  });

  test('a permit that is no longer good does not undo a claim that lives', () => {
    expect(started(claim(5000), { check: bad }).kind).toBe('wait');
  });

  test('own claim, nothing begun under it: taken up', () => {
    expect(started(claim(20_000, { worker: 'me' }))).toMatchObject({ kind: 'adopt' });
  });

  test('own claim, begun before: never taken up again', () => {
    expect(started(claim(20_000, { worker: 'me' }), { hasBegun: true }).kind).toBe('wait');
    expect(started(claim(-60_000, { worker: 'me' }), { hasBegun: true }).kind).toBe('indeterminate');
  });

  test('own claim with hardly any lease left: not taken up', () => {
    expect(started(claim(1000, { worker: 'me' })).kind).toBe('wait');
  });

  test('a claim that is not known yet: wait', () => {
    expect(decide(given({ lane: lane('tool.execution.started') })).kind).toBe('wait');
  });

  test('no wait is longer than a quarter of a minute, none is a busy loop', () => {
    for (const left of [-1999, 0, 1, 29_000, 600_000]) {
      const decision = started(claim(left));
      expect(decision.kind).toBe('wait');
      if (decision.kind !== 'wait') continue;
      expect(decision.delayMs).toBeGreaterThanOrEqual(100);
      expect(decision.delayMs).toBeLessThanOrEqual(15_000);
    }
  });
});
