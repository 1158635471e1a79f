import { describe, expect, test } from 'vitest';
import { LogBuilder, modelTurn, sample, startRun, takeCall, toolCall } from '../../testing/index.ts';
import { EVENT_TYPES, EVENTS, type EventType } from '../registry.ts';
import type { StoredEvent } from '../stored-event.ts';
import { type Judgement, judge } from './judge.ts';
import { initialState, type Stage } from './state.ts';

/** Judges the event that `add` appends against the log as it was before. */
function judged(log: LogBuilder, add: (log: LogBuilder) => StoredEvent): Judgement {
  const before = log.state();
  return judge(before, add(log));
}

const LEGAL: Judgement = { legal: true };
const illegal = (reason: string): unknown => ({
  legal: false,
  code: 'illegal_transition',
  reason: expect.stringContaining(reason),
});

function opened(): LogBuilder {
  const log = new LogBuilder();
  log.append('session.opened', sample('session.opened'));
  return log;
}

function running(): LogBuilder {
  const log = new LogBuilder();
  startRun(log);
  return log;
}

/** A turn with one call that stands at `stage`. */
function callAt(stage: Stage): LogBuilder {
  const log = running();
  modelTurn(log, [toolCall('call-1')]);
  takeCall(log, 'call-1', stage);
  return log;
}

describe('signatures (J2)', () => {
  const signed = EVENT_TYPES.filter((type) => EVENTS[type].signed);
  const intent = 'call-1';

  test.each(signed)('a forged %s is a stray', (type) => {
    const log = callAt('validated');
    const forged = judged(log, () => log.append(type, sample(type), { intent, authenticity: 'forged' }));
    expect(forged).toMatchObject({ legal: false, code: 'bad_signature' });
  });

  test('what nobody signs is not refused for it', () => {
    const log = opened();
    const said = judged(log, () =>
      log.append('user.message', sample('user.message'), { authenticity: 'forged' }),
    );
    expect(said).toEqual(LEGAL);
  });

  test.each(['verified', 'unchecked'] as const)('%s counts', (authenticity) => {
    const log = callAt('validated');
    const asked = judged(log, () =>
      log.append('tool.approval.asked', sample('tool.approval.asked'), { intent, authenticity }),
    );
    expect(asked).toEqual(LEGAL);
  });
});

describe('inbox', () => {
  test('nothing counts before the session is opened', () => {
    const log = new LogBuilder();
    expect(judged(log, () => log.append('user.message', sample('user.message')))).toEqual(
      illegal('never opened'),
    );
  });

  test('the first session.opened counts', () => {
    const log = new LogBuilder();
    expect(judged(log, () => log.append('session.opened', sample('session.opened')))).toEqual(LEGAL);
  });

  test('a second session.opened does not', () => {
    expect(judged(opened(), (log) => log.append('session.opened', sample('session.opened')))).toEqual(
      illegal('open already'),
    );
  });

  test('a repeat of an id does not', () => {
    const log = opened();
    const { envelope } = log.append('user.message', sample('user.message'));
    const again = judged(log, () => log.append('user.message', sample('user.message'), { id: envelope.id }));
    expect(again).toEqual(illegal('a repeat'));
  });

  test.each(['user.message', 'undo.requested', 'session.closed'] as const)('%s after the end', (type) => {
    const log = opened();
    log.append('session.closed', sample('session.closed'));
    expect(judged(log, () => log.append(type, sample(type)))).toEqual(illegal('is closed'));
  });

  test.each(['tool.answer', 'run.cancel'] as const)('%s still reaches what runs after the end', (type) => {
    const log = running();
    log.append('session.closed', sample('session.closed'));
    expect(judged(log, () => log.append(type, sample(type)))).toEqual(LEGAL);
  });
});

describe('chains (J1)', () => {
  test.each([
    ['another sequence', { seq: 99, hash: 'f'.repeat(64) }],
    ['the start of the lane', { seq: 0, hash: '0'.repeat(64) }],
  ])('a journal event that chains to %s is a stray', (_what, tail) => {
    const log = running();
    const stray = judged(log, () => log.append('model.requested', sample('model.requested'), { tail }));
    expect(stray).toMatchObject({ legal: false, code: 'chain_broken' });
  });

  test('the right sequence with another hash is a stray', () => {
    const log = running();
    const tail = { seq: log.tail('s').seq, hash: 'f'.repeat(64) };
    const stray = judged(log, () => log.append('model.requested', sample('model.requested'), { tail }));
    expect(stray).toMatchObject({ legal: false, code: 'chain_broken' });
  });

  test('an event without a chain is a stray', () => {
    const log = running();
    const stray = judged(log, () =>
      log.append('model.requested', sample('model.requested'), {
        seal: ({ prevseq: _seq, prevhash: _hash, ...rest }) => rest,
      }),
    );
    expect(stray).toMatchObject({
      legal: false,
      code: 'chain_broken',
      reason: expect.stringContaining('nothing'),
    });
  });

  test('strays count in the chain: the next event chains to them', () => {
    const log = callAt('declared');
    log.junk('i', 'call-1');
    expect(judged(log, () => log.append('tool.intent', sample('tool.intent'), { intent: 'call-1' }))).toEqual(
      LEGAL,
    );
  });

  test('strays of an unknown lane count as well', () => {
    const log = running();
    log.junk('i', 'undo-1');
    const undo = judged(log, () =>
      log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), { intent: 'undo-1' }),
    );
    expect(undo).toEqual(LEGAL);
  });

  test('side facts chain to nothing', () => {
    expect(judged(running(), (log) => log.append('job.ended', sample('job.ended')))).toEqual(LEGAL);
  });

  test('registry events are judged elsewhere', () => {
    expect(judged(running(), (log) => log.append('checkpoint', sample('checkpoint')))).toEqual(LEGAL);
  });
});

describe('session journal', () => {
  test('no run before the session is opened', () => {
    expect(judged(new LogBuilder(), (log) => log.append('run.started', { number: 1 }))).toEqual(
      illegal('never opened'),
    );
  });

  test('no second run beside the first', () => {
    expect(judged(running(), (log) => log.append('run.started', { number: 2 }))).toEqual(
      illegal('a run is under way'),
    );
  });

  test.each(['run.finished', 'model.requested', 'model.message', 'context.compacted'] as const)(
    '%s needs a run',
    (type) => {
      expect(judged(opened(), (log) => log.append(type, sample(type)))).toEqual(illegal('no run'));
    },
  );

  test('an event of another run is a stray', () => {
    const other = judged(running(), (log) =>
      log.append('model.requested', sample('model.requested'), { run: 'other' }),
    );
    expect(other).toEqual(illegal('no run that is under way'));
  });

  test.each(['model.requested', 'context.compacted'] as const)('%s not while a request is open', (type) => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    expect(judged(log, () => log.append(type, sample(type)))).toEqual(illegal('a request is open'));
  });

  test('a compaction replaces only what is there', () => {
    const log = running();
    const replaced = { fromSeq: 1, throughSeq: 99 };
    expect(
      judged(log, () => log.append('context.compacted', sample('context.compacted', { replaced }))),
    ).toEqual(illegal('yet to come'));
  });

  test.each(['model.attempt.started', 'model.retrying', 'model.failed', 'model.message'] as const)(
    '%s needs an open request',
    (type) => {
      expect(judged(running(), (log) => log.append(type, sample(type)))).toEqual(
        illegal('no request is open'),
      );
    },
  );

  test('an attempt has a new number', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    log.append('model.attempt.started', sample('model.attempt.started', { attempt: 2 }));
    const again = judged(log, () =>
      log.append('model.attempt.started', sample('model.attempt.started', { attempt: 2 })),
    );
    expect(again).toEqual(illegal('not a new one'));
  });

  test('no message without a claimed attempt', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    expect(judged(log, () => log.append('model.message', sample('model.message')))).toEqual(
      illegal('not the newest'),
    );
  });

  test('no message of an attempt that was given up', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    log.append('model.attempt.started', sample('model.attempt.started', { attempt: 1 }));
    log.append('model.attempt.started', sample('model.attempt.started', { attempt: 2 }));
    const late = judged(log, () => log.append('model.message', sample('model.message', { attempt: 1 })));
    expect(late).toEqual(illegal('not the newest'));
  });

  test('one answer per request', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Done.' }]);
    expect(judged(log, () => log.append('model.message', sample('model.message')))).toEqual(
      illegal('no request is open'),
    );
  });

  test('the way of a run is legal', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Wait.' }], 'pause');
    log.append('model.requested', sample('model.requested'));
    log.append('model.retrying', sample('model.retrying'));
    log.append('model.failed', sample('model.failed'));
    log.append('context.compacted', sample('context.compacted'));
    log.append('run.finished', sample('run.finished'));
    expect(log.state().skipped).toBe(0);
  });
});

describe('intent journal', () => {
  test('a model proposes only what its message declares', () => {
    expect(
      judged(running(), (log) => log.append('tool.intent', sample('tool.intent'), { intent: 'call-9' })),
    ).toEqual(illegal('no message of the model'));
  });

  test('the intent is for the tool that was called', () => {
    const other = judged(callAt('declared'), (log) =>
      log.append('tool.intent', sample('tool.intent', { tool: 'bash' }), { intent: 'call-1' }),
    );
    expect(other).toEqual(illegal('another tool'));
  });

  test('a person proposes an undo', () => {
    const undo = judged(running(), (log) =>
      log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), { intent: 'undo-1' }),
    );
    expect(undo).toEqual(LEGAL);
  });

  test('an edit needs the call it stands for to name it', () => {
    const supersedes = { intent: 'call-1', answerId: 'a', person: 'ada' };
    const edit = judged(callAt('asked'), (log) =>
      log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), {
        intent: 'edit-1',
      }),
    );
    expect(edit).toEqual(illegal('does not name it'));
  });

  test('an edit that the old call names counts', () => {
    const log = callAt('asked');
    log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by: 'edit-1' }), {
      intent: 'call-1',
    });
    const supersedes = { intent: 'call-1', answerId: 'a', person: 'ada' };
    const edit = judged(log, () =>
      log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), {
        intent: 'edit-1',
      }),
    );
    expect(edit).toEqual(LEGAL);
  });

  test.each(['call-1', 'call-2'])('nothing is superseded by a call that exists (%s)', (by) => {
    const log = running();
    modelTurn(log, [toolCall('call-1'), toolCall('call-2')]);
    takeCall(log, 'call-1', 'asked');
    const circle = judged(log, () =>
      log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by }), {
        intent: 'call-1',
      }),
    );
    expect(circle).toEqual(illegal('exists already'));
  });

  test.each(EVENT_TYPES.filter((type) => EVENTS[type].lane === 'i' && type !== 'tool.intent'))(
    '%s of a call that nobody declared',
    (type) => {
      expect(judged(running(), (log) => log.append(type, sample(type), { intent: 'call-9' }))).toEqual(
        illegal('no message of the model'),
      );
    },
  );

  test.each(['constructor', '__proto__', 'toString'])('%s is an id and no call', (intent) => {
    const log = running();
    expect(judged(log, () => log.append('tool.validated', sample('tool.validated'), { intent }))).toEqual(
      illegal('no message of the model'),
    );
    modelTurn(log, [toolCall(intent)]);
    takeCall(log, intent, 'observed');
    expect(log.state()).toMatchObject({ skipped: 1 });
  });
});

/** What may follow each stage: the law of the table, spelled out so that a change of it is seen. */
const FOLLOWS: Readonly<Record<Stage, readonly EventType[]>> = {
  declared: ['tool.intent', 'tool.cancelled'],
  proposed: ['tool.validated', 'tool.validation_failed', 'tool.cancelled'],
  validated: ['tool.approval.asked', 'tool.approval.allowed', 'tool.approval.denied', 'tool.cancelled'],
  asked: ['tool.approval.asked', 'tool.approval.allowed', 'tool.approval.denied', 'tool.cancelled'],
  allowed: ['tool.execution.started', 'tool.cancelled'],
  started: ['tool.execution.completed'],
  invalid: ['tool.observation'],
  denied: ['tool.observation'],
  cancelled: ['tool.observation'],
  completed: ['tool.observation'],
  observed: [],
};
const STAGES = Object.keys(FOLLOWS) as Stage[];
const STEPS = EVENT_TYPES.filter((type) => EVENTS[type].lane === 'i');

describe('stages', () => {
  test.each(STAGES.flatMap((stage) => STEPS.map((type) => ({ stage, type }))))(
    '$type after $stage',
    ({ stage, type }) => {
      const log = callAt(stage);
      const data =
        type === 'tool.execution.completed'
          ? sample(type, { claimSeq: log.state().calls['call-1']?.claim?.seq ?? null })
          : sample(type);
      const judgement = judged(log, () => log.append(type, data, { intent: 'call-1' }));
      expect(judgement.legal).toBe(FOLLOWS[stage].includes(type));
    },
  );
});

describe('claims and facts (J3, J4, J5)', () => {
  const intent = 'call-1';

  test('the first claim has epoch 1', () => {
    const claim = judged(callAt('allowed'), (log) =>
      log.append('tool.execution.started', sample('tool.execution.started', { epoch: 2 }), { intent }),
    );
    expect(claim).toEqual(illegal('claim 2 where 1 is next'));
  });

  test('a claim is taken again by the next epoch only', () => {
    const log = callAt('started');
    const again = judged(log, () =>
      log.append('tool.execution.started', sample('tool.execution.started', { epoch: 2 }), { intent }),
    );
    expect(again).toEqual(LEGAL);
    const skipped = judged(log, () =>
      log.append('tool.execution.started', sample('tool.execution.started', { epoch: 4 }), { intent }),
    );
    expect(skipped).toEqual(illegal('claim 4 where 3 is next'));
  });

  test.each(['success', 'failed', 'indeterminate'] as const)('no %s without a claim', (outcome) => {
    const fact = judged(callAt('allowed'), (log) =>
      log.append(
        'tool.execution.completed',
        sample('tool.execution.completed', { outcome, claimSeq: null }),
        {
          intent,
        },
      ),
    );
    expect(fact).toEqual(illegal('nothing was claimed'));
  });

  test('a refusal has no claim', () => {
    const refused = { outcome: 'refused', claimSeq: null, epoch: 0 } as const;
    const add = (log: LogBuilder): StoredEvent =>
      log.append('tool.execution.completed', sample('tool.execution.completed', refused), { intent });
    expect(judged(callAt('allowed'), add)).toEqual(LEGAL);
    expect(judged(callAt('started'), add)).toEqual(illegal('claim in force'));
  });

  test('a fenced worker counts for nothing', () => {
    const log = callAt('started');
    const first = log.tail('i', intent).seq;
    log.append('tool.execution.started', sample('tool.execution.started', { epoch: 2 }), { intent });
    const late = judged(log, () =>
      log.append('tool.execution.completed', sample('tool.execution.completed', { claimSeq: first }), {
        intent,
      }),
    );
    expect(late).toEqual(illegal('claim in force'));
  });

  test('another pool claims nothing', () => {
    const claim = judged(callAt('allowed'), (log) =>
      log.append('tool.execution.started', sample('tool.execution.started', { pool: 'shell' }), { intent }),
    );
    expect(claim).toEqual(illegal('the pool fs'));
  });

  test('another pool tells nothing', () => {
    const log = callAt('started');
    const claimSeq = log.tail('i', intent).seq;
    const fact = judged(log, () =>
      log.append(
        'tool.execution.completed',
        sample('tool.execution.completed', { pool: 'shell', claimSeq }),
        { intent },
      ),
    );
    expect(fact).toEqual(illegal('the pool fs'));
  });
});

test('a type on a lane of another kind is a stray, not an error', () => {
  const log = running();
  modelTurn(log, [toolCall('call-1')]);
  const [, , , request] = log.entries;
  if (request?.type !== 'model.requested') throw new Error('no request');
  // Only a bug of a reader can make such an entry; the fold must still be total.
  const misplaced = { ...request, type: 'tool.observation' } as unknown as StoredEvent;
  expect(judge(initialState('local', 'demo'), misplaced).legal).toBe(false);
});
