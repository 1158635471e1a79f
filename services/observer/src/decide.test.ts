import { type Stop, stopSchema } from '@interlock/contracts';
import { LogBuilder, modelTurn, sample, takeCall, toolCall } from '@interlock/contracts/testing';
import { describe, expect, test } from 'vitest';
import { asked, called, opened, says, started, stepOf } from '../test/given.ts';

const cutCall = {
  type: 'rejected_call',
  intent: 'cut',
  tool: 'bash',
  raw: '{"a',
  why: 'max_tokens',
  providerRef: 'r',
} as const;
const text = { type: 'text', text: 'hello' } as const;

/** One turn that ends in `stop`, its calls observed. */
function turn(log: LogBuilder, stop: Stop, calls: readonly string[] = []): LogBuilder {
  modelTurn(log, [text, ...calls.map((intent) => toolCall(intent))], stop);
  for (const intent of calls) takeCall(log, intent, 'observed');
  return log;
}

function cutTurn(log: LogBuilder): LogBuilder {
  modelTurn(log, [text, cutCall], 'max_tokens');
  return log;
}

describe('nothing is due', () => {
  test('before the session is opened', () => {
    expect(stepOf(new LogBuilder())).toEqual({ kind: 'nothing', why: 'the session was never opened' });
  });

  test('while nobody has said anything', () => {
    expect(stepOf(opened())).toEqual({ kind: 'nothing', why: 'nobody has said anything new' });
  });

  test.each(['claimed', 'unclaimed'] as const)('while a request is open (%s)', (attempt) => {
    expect(stepOf(asked(attempt))).toEqual({ kind: 'nothing', why: 'the model answers' });
  });

  test.each([
    'declared',
    'proposed',
    'invalid',
    'validated',
    'asked',
    'denied',
    'allowed',
    'cancelled',
    'started',
    'completed',
  ] as const)('while a call is %s', (stage) => {
    expect(stepOf(called({ a: stage }))).toEqual({ kind: 'nothing', why: 'calls are open' });
    expect(stepOf(called({ a: 'observed', b: stage }))).toEqual({ kind: 'nothing', why: 'calls are open' });
  });

  test.each(stopSchema.options)('while a call is open, whatever the stop says (%s)', (stop) => {
    const log = started();
    modelTurn(log, [toolCall('a'), toolCall('b')], stop);
    takeCall(log, 'a', 'observed');
    expect(stepOf(log)).toEqual({ kind: 'nothing', why: 'calls are open' });
  });

  test('after the run was finished', () => {
    const log = turn(started(), 'end_turn');
    log.append('run.finished', sample('run.finished', { throughSeq: log.seq }));
    expect(stepOf(log)).toMatchObject({ kind: 'nothing' });
  });

  test('in a closed session, though somebody had said something', () => {
    const log = opened();
    says(log);
    log.append('session.closed', sample('session.closed'));
    expect(stepOf(log)).toEqual({ kind: 'nothing', why: 'the session is closed' });
  });
});

describe('a run begins', () => {
  test('when somebody said something', () => {
    const log = opened();
    says(log);
    expect(stepOf(log)).toEqual({ kind: 'start', number: 1 });
  });

  test('with its first request, in turn 1', () => {
    expect(stepOf(started())).toEqual({
      kind: 'request',
      turn: 1,
      because: 'next_turn',
      budgetLeft: { turns: null, tokens: null, costUsd: null },
    });
  });

  test('again for a message that came with the last answer of the run before', () => {
    const log = turn(started(), 'end_turn');
    const seq = says(log);
    const step = stepOf(log);
    expect(step).toEqual({ kind: 'finish', reason: 'completed', throughSeq: seq - 1 });
    log.append('run.finished', sample('run.finished', { throughSeq: seq - 1 }));
    expect(stepOf(log)).toEqual({ kind: 'start', number: 2 });
  });
});

describe('the stop table', () => {
  test.each(['tool_calls', 'unknown'] as const)('%s with calls: the next turn', (stop) => {
    expect(stepOf(turn(started(), stop, ['a', 'b']))).toMatchObject({
      kind: 'request',
      turn: 2,
      because: 'next_turn',
    });
  });

  test.each(['tool_calls', 'unknown'] as const)('%s without calls: completed', (stop) => {
    expect(stepOf(turn(started(), stop))).toMatchObject({ kind: 'finish', reason: 'completed' });
  });

  test.each(['end_turn', 'stop_sequence'] as const)('%s: completed', (stop) => {
    expect(stepOf(turn(started(), stop))).toMatchObject({ kind: 'finish', reason: 'completed' });
    expect(stepOf(turn(started(), stop, ['a']))).toMatchObject({ kind: 'finish', reason: 'completed' });
  });

  test('max_tokens without calls: length', () => {
    expect(stepOf(turn(started(), 'max_tokens'))).toMatchObject({ kind: 'finish', reason: 'length' });
  });

  test('max_tokens in a call: the next turn says so; twice in a row: length', () => {
    const log = cutTurn(started());
    expect(stepOf(log)).toMatchObject({ kind: 'request', turn: 2, because: 'next_turn' });
    expect(stepOf(cutTurn(log))).toMatchObject({ kind: 'finish', reason: 'length' });
  });

  test('a whole answer between two cut ones starts the count again', () => {
    const log = cutTurn(turn(cutTurn(started()), 'tool_calls', ['a']));
    expect(stepOf(log)).toMatchObject({ kind: 'request', turn: 4 });
  });

  test('pause: the same turn again, also when calls ran in it', () => {
    expect(stepOf(turn(started(), 'pause'))).toMatchObject({ kind: 'request', turn: 1, because: 'pause' });
    expect(stepOf(turn(started(), 'pause', ['a']))).toMatchObject({
      kind: 'request',
      turn: 1,
      because: 'pause',
    });
  });

  test('compaction at the provider: the same turn again', () => {
    expect(stepOf(turn(started(), 'compaction'))).toMatchObject({
      kind: 'request',
      turn: 1,
      because: 'compaction',
    });
  });

  test.each(['refusal', 'content_filter'] as const)('%s: refused', (stop) => {
    expect(stepOf(turn(started(), stop))).toMatchObject({ kind: 'finish', reason: 'refused' });
  });

  test('context_window: finished, as nothing can compact yet', () => {
    expect(stepOf(turn(started(), 'context_window'))).toMatchObject({
      kind: 'finish',
      reason: 'context_window',
    });
  });
});

describe('a request without an answer', () => {
  const failed = (category: 'auth' | 'context_window' | 'model_cancelled'): LogBuilder => {
    const log = asked();
    log.append('model.failed', sample('model.failed', { category, message: 'no' }));
    return log;
  };

  test('fails the run, with its category', () => {
    expect(stepOf(failed('auth'))).toMatchObject({
      kind: 'finish',
      reason: 'model_failed',
      detail: 'auth: no',
    });
    expect(stepOf(failed('context_window'))).toMatchObject({ kind: 'finish', reason: 'context_window' });
    expect(stepOf(failed('model_cancelled'))).toMatchObject({ kind: 'finish', reason: 'cancelled' });
  });

  test('that is lost fails the run, and only that request', () => {
    const log = asked();
    const requestId = log.state().request?.id ?? '';
    const lost = { requestId, why: 'dead letter' };
    expect(stepOf(log, { lost })).toMatchObject({
      kind: 'finish',
      reason: 'model_failed',
      detail: 'dead letter',
    });
    expect(stepOf(log, { lost: { ...lost, requestId: 'another' } })).toMatchObject({ kind: 'nothing' });
  });
});

describe('budgets, before each request', () => {
  const used = (budgets: object): LogBuilder => turn(started(budgets), 'tool_calls', ['a']);

  test('turns', () => {
    expect(stepOf(used({ maxTurns: 1 }))).toMatchObject({ kind: 'finish', reason: 'max_turns' });
    expect(stepOf(used({ maxTurns: 2 }))).toMatchObject({ kind: 'request', budgetLeft: { turns: 0 } });
  });

  test('a pause is no new turn', () => {
    expect(stepOf(turn(started({ maxTurns: 1 }), 'pause'))).toMatchObject({ kind: 'request', turn: 1 });
  });

  test('tokens of all classes', () => {
    expect(stepOf(used({ maxTokens: 150 }))).toMatchObject({
      kind: 'finish',
      reason: 'budget',
      detail: '150 of 150 tokens are used',
    });
    expect(stepOf(used({ maxTokens: 151 }))).toMatchObject({ kind: 'request', budgetLeft: { tokens: 1 } });
  });

  test('cost, as far as a provider tells it', () => {
    const paid = (costUsd: number | null): LogBuilder => {
      const log = asked('claimed', { maxCostUsd: 1 });
      log.append('model.message', sample('model.message', { stop: 'pause', costUsd }));
      return log;
    };
    expect(stepOf(paid(1))).toMatchObject({
      kind: 'finish',
      reason: 'budget',
      detail: '1 of 1 USD are used',
    });
    expect(stepOf(paid(0.25))).toMatchObject({ kind: 'request', budgetLeft: { costUsd: 0.75 } });
    expect(stepOf(paid(null))).toMatchObject({ kind: 'request', budgetLeft: { costUsd: 1 } });
  });

  test('a model that pauses for ever is stopped', () => {
    const log = turn(started(), 'pause');
    log.append('model.requested', sample('model.requested', { throughSeq: log.seq, because: 'pause' }), {
      turn: 1,
    });
    log.append('model.attempt.started', sample('model.attempt.started'));
    log.append('model.message', sample('model.message', { stop: 'pause' }));
    expect(stepOf(log, { maxRequestsPerTurn: 3 })).toMatchObject({ kind: 'request', turn: 1 });
    expect(stepOf(log, { maxRequestsPerTurn: 2 })).toMatchObject({ kind: 'finish', reason: 'budget' });
  });

  test('an answer that needs no other turn is complete, whatever is used up', () => {
    expect(stepOf(turn(started({ maxTurns: 1, maxTokens: 1 }), 'end_turn'))).toMatchObject({
      kind: 'finish',
      reason: 'completed',
    });
  });
});

describe('a cancel', () => {
  const cancel = (log: LogBuilder): LogBuilder => {
    log.append('run.cancel', sample('run.cancel'));
    return log;
  };

  test('waits for calls that are being stopped', () => {
    for (const stage of ['declared', 'asked', 'allowed', 'started', 'cancelled', 'completed'] as const) {
      expect(stepOf(cancel(called({ a: stage })))).toMatchObject({ kind: 'nothing' });
    }
  });

  test('waits for a gateway that streams, until that is given up', () => {
    const log = cancel(asked());
    expect(stepOf(log)).toEqual({ kind: 'nothing', why: 'the model is told to stop' });
    expect(stepOf(log, { gaveUpOn: 'another' })).toMatchObject({ kind: 'nothing' });
    expect(stepOf(log, { gaveUpOn: log.state().request?.id })).toMatchObject({
      kind: 'finish',
      reason: 'cancelled',
    });
  });

  test('does not wait for a request that no gateway has claimed', () => {
    expect(stepOf(cancel(asked('unclaimed')))).toMatchObject({ kind: 'finish', reason: 'cancelled' });
  });

  test('finishes a run that has asked nothing, or whose calls are all observed', () => {
    expect(stepOf(cancel(started()))).toMatchObject({
      kind: 'finish',
      reason: 'cancelled',
      detail: 'cancelled by ada',
    });
    expect(stepOf(cancel(called({ a: 'observed' })))).toMatchObject({ kind: 'finish', reason: 'cancelled' });
  });

  test('before the run of a message begins is meant for that run', () => {
    const log = opened();
    says(log);
    cancel(log);
    expect(stepOf(log)).toEqual({ kind: 'start', number: 1 });
    log.append('run.started', { number: 1 });
    expect(stepOf(log)).toMatchObject({ kind: 'finish', reason: 'cancelled' });
  });

  test('with nothing said and nothing running is nothing', () => {
    expect(stepOf(cancel(opened()))).toMatchObject({ kind: 'nothing' });
  });

  test('by a passed deadline ends in `budget`, and takes no message back', () => {
    const log = called({ a: 'observed' });
    const seq = says(log);
    log.append(
      'run.cancel',
      sample('run.cancel', { reason: 'budget', by: 'observer', run: log.state().run?.id }),
    );
    expect(stepOf(log)).toMatchObject({ kind: 'finish', reason: 'budget', throughSeq: seq - 1 });
  });

  test('takes back what was said before it, and nothing said after it', () => {
    const log = asked('unclaimed');
    says(log, 'before');
    const seq = cancel(log).seq;
    expect(stepOf(log)).toMatchObject({ kind: 'finish', throughSeq: seq });
    const after = says(log, 'after');
    expect(stepOf(log)).toMatchObject({ kind: 'finish', throughSeq: after - 1 });
  });
});

describe('closing the session', () => {
  test('ends a run as cancelled and takes back all that was said', () => {
    const log = asked('unclaimed');
    says(log);
    log.append('session.closed', sample('session.closed'));
    expect(stepOf(log)).toEqual({
      kind: 'finish',
      reason: 'cancelled',
      detail: 'the session was closed',
      throughSeq: log.seq,
    });
  });

  test('waits for what runs like any cancel', () => {
    const log = called({ a: 'started' });
    log.append('session.closed', sample('session.closed'));
    expect(stepOf(log)).toMatchObject({ kind: 'nothing' });
  });
});

describe('a message during a run', () => {
  test('is no step of its own', () => {
    const log = asked();
    says(log);
    expect(stepOf(log)).toMatchObject({ kind: 'nothing' });
  });

  test('is taken by the next turn', () => {
    const log = called({ a: 'observed' });
    const seq = says(log);
    log.append('model.requested', sample('model.requested', { throughSeq: seq }));
    expect(log.state().pending).toEqual([]);
  });

  test.each(['refusal', 'context_window', 'max_tokens', 'end_turn'] as const)(
    'survives a run that ends by %s',
    (stop) => {
      const log = turn(started(), stop);
      const seq = says(log);
      expect(stepOf(log)).toMatchObject({ kind: 'finish', throughSeq: seq - 1 });
    },
  );

  test('survives though it was stored before `run.started`, which had not seen it', () => {
    const log = opened();
    const first = says(log, 'first');
    const second = says(log, 'second');
    log.append('run.started', { number: 1 });
    log.append('model.requested', sample('model.requested', { throughSeq: first }));
    log.append('model.attempt.started', sample('model.attempt.started'));
    log.append('model.message', sample('model.message'));
    expect(stepOf(log)).toMatchObject({ kind: 'finish', throughSeq: second - 1 });
  });
});
