import { PROJECTION, projectContext, type StoredEventOf } from '@interlock/contracts';
import { LogBuilder, modelTurn, READ_FILE, sample, startRun, toolCall } from '@interlock/contracts/testing';
import { contextSnapshotId } from '@interlock/kit/pure';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';

const OPTIONS = { maxAttempts: 5, providers: new Set(['scripted']) };

/** A log whose last event asks the model, as the observer would ask. */
function asked(overrides: Partial<Parameters<typeof sample<'model.requested'>>[1]> = {}): {
  log: LogBuilder;
  requested: StoredEventOf<'model.requested'>;
} {
  const log = new LogBuilder();
  startRun(log);
  return { log, requested: ask(log, overrides) };
}

function ask(
  log: LogBuilder,
  overrides: Partial<Parameters<typeof sample<'model.requested'>>[1]> = {},
): StoredEventOf<'model.requested'> {
  const throughSeq = log.seq;
  const tools = [READ_FILE];
  const context = projectContext(log.state(), { throughSeq, tools });
  return log.append(
    'model.requested',
    sample('model.requested', {
      throughSeq,
      tools,
      projection: PROJECTION,
      contextSnapshotId: contextSnapshotId(context),
      ...overrides,
    }),
  );
}

describe('no call is made', () => {
  test('for a run that was cancelled', () => {
    const { log, requested } = asked();
    log.append('run.cancel', sample('run.cancel', { by: 'grace' }));
    expect(decide(log.state(), requested, OPTIONS)).toEqual({
      kind: 'fail',
      category: 'model_cancelled',
      message: 'the run was cancelled by grace',
    });
  });

  test('for a run whose cancel came before it began', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    log.append('user.message', sample('user.message'));
    log.append('run.cancel', sample('run.cancel'));
    log.append('run.started', sample('run.started'));
    const requested = ask(log);
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ category: 'model_cancelled' });
  });

  test('for a projection that is not known', () => {
    const { log, requested } = asked({ projection: 'p99' });
    expect(decide(log.state(), requested, OPTIONS)).toEqual({ kind: 'leave', projection: 'p99' });
  });

  test('for another context than the log holds', () => {
    const { log, requested } = asked({ contextSnapshotId: 'f'.repeat(64) });
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({
      kind: 'fail',
      category: 'context_mismatch',
      message: expect.stringContaining('f'.repeat(64)),
    });
  });

  test('for other tools than were hashed', () => {
    const { log, requested } = asked({ tools: [] });
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ category: 'context_mismatch' });
  });

  test('for a provider that is not at hand', () => {
    const { log, requested } = asked({ provider: 'anthropic' });
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ category: 'model_not_found' });
  });

  test('once the attempts are used up', () => {
    const { log, requested } = asked();
    for (const attempt of [1, 2, 3, 4, 5]) {
      log.append('model.attempt.started', sample('model.attempt.started', { attempt }));
    }
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ kind: 'fail', category: 'internal' });
  });

  test('for a request that has its answer; the answer is named', () => {
    const log = new LogBuilder();
    startRun(log);
    const requested = ask(log);
    log.append('model.attempt.started', sample('model.attempt.started'));
    log.append('model.message', sample('model.message', { parts: [toolCall('call-1')], stop: 'tool_calls' }));
    const plan = decide(log.state(), requested, OPTIONS);
    expect(plan).toMatchObject({ kind: 'closed', answer: { seq: log.seq, parts: [{ intent: 'call-1' }] } });
  });

  test('for a request that failed', () => {
    const { log, requested } = asked();
    log.append('model.failed', sample('model.failed'));
    expect(decide(log.state(), requested, OPTIONS)).toEqual({ kind: 'closed', answer: null });
  });

  test('for a request whose run is over', () => {
    const { log, requested } = asked();
    log.append('run.finished', sample('run.finished', { reason: 'cancelled', throughSeq: log.seq }));
    expect(decide(log.state(), requested, OPTIONS)).toEqual({ kind: 'closed', answer: null });
  });

  test('for a request that does not count', () => {
    const { log } = asked();
    const stray = ask(log);
    expect(decide(log.state(), stray, OPTIONS)).toEqual({ kind: 'closed', answer: null });
  });
});

describe('a call is made', () => {
  test('with the context as it was asked for, as attempt 1', () => {
    const { log, requested } = asked();
    const plan = decide(log.state(), requested, OPTIONS);
    expect(plan).toMatchObject({ kind: 'call', attempt: 1 });
    expect(plan.kind === 'call' && plan.context.map(({ kind }) => kind)).toEqual(['system', 'tools', 'user']);
  });

  test('with the same context whatever was said since', () => {
    const { log, requested } = asked();
    const before = decide(log.state(), requested, OPTIONS);
    log.append('user.message', sample('user.message', { text: 'and another thing' }));
    expect(decide(log.state(), requested, OPTIONS)).toEqual(before);
  });

  test('under the next number after an attempt that was lost', () => {
    const { log, requested } = asked();
    log.append('model.attempt.started', sample('model.attempt.started', { attempt: 2 }));
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ kind: 'call', attempt: 3 });
  });

  test('in a later turn', () => {
    const log = new LogBuilder();
    startRun(log);
    modelTurn(log, [{ type: 'text', text: 'one moment' }], 'pause');
    const requested = ask(log);
    expect(decide(log.state(), requested, OPTIONS)).toMatchObject({ kind: 'call', attempt: 1 });
  });
});
