import { describe, expect, test } from 'vitest';
import { LogBuilder, modelTurn, sample, sha, startRun, takeCall, toolCall } from '../../testing/index.ts';
import type { LogEntry } from '../stored-event.ts';
import { evolve, fold } from './evolve.ts';
import { addCost, addUsage, initialState, NO_USAGE, totalTokens } from './state.ts';

function running(): LogBuilder {
  const log = new LogBuilder();
  startRun(log);
  return log;
}

/** A call that waits for a person, and the ask. */
function asking(): { log: LogBuilder; askedId: string } {
  const log = running();
  modelTurn(log, [toolCall('call-1')]);
  takeCall(log, 'call-1', 'validated');
  const asked = log.append('tool.approval.asked', sample('tool.approval.asked'), { intent: 'call-1' });
  return { log, askedId: asked.envelope.id };
}

describe('what does not count', () => {
  test('an entry at or before the end of the state changes nothing', () => {
    const log = running();
    const state = log.state();
    for (const entry of log.entries) expect(evolve(state, entry)).toBe(state);
  });

  test('another session moves the sequence and nothing else', () => {
    const state = running().state();
    const other = new LogBuilder('local', 'other');
    for (let index = 0; index < 5; index += 1) other.append('user.message', sample('user.message'));
    const stranger = other.entries[4] as LogEntry;
    expect(evolve(state, stranger)).toEqual({ ...state, throughSeq: 5 });
  });

  test('a subject that is none of ours moves the sequence and nothing else', () => {
    const state = running().state();
    const entry = { ...new LogBuilder().junk('u'), seq: 9, subject: 'elsewhere' };
    expect(evolve(state, entry)).toEqual({ ...state, throughSeq: 9 });
  });

  test('an unreadable entry moves the tail of its lane and is counted', () => {
    const log = running();
    const before = log.state();
    const junk = log.junk('s');
    const tail = { seq: junk.seq, hash: junk.hash };
    expect(log.state()).toEqual({
      ...before,
      throughSeq: junk.seq,
      skipped: 1,
      journal: { ...before.journal, tail },
    });
  });

  test('a stray of an unknown intent keeps the tail of its lane', () => {
    const log = running();
    const junk = log.junk('i', 'call-9');
    expect(log.state().strayTails).toEqual({ 'call-9': { seq: junk.seq, hash: junk.hash } });
  });

  test('a stray of a known call moves the tail and not the stage', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1')]);
    const stray = log.append('tool.observation', sample('tool.observation'), { intent: 'call-1' });
    expect(log.state().calls['call-1']).toMatchObject({
      stage: 'declared',
      tail: { seq: stray.seq, hash: stray.hash },
      step: null,
    });
  });

  test('side facts leave the state as it is', () => {
    const log = running();
    const before = log.state();
    log.append('job.ended', sample('job.ended'));
    log.append('execution.late', sample('execution.late'));
    expect(log.state()).toEqual({ ...before, throughSeq: log.seq });
  });
});

describe('inbox', () => {
  test('the header of the session', () => {
    const log = new LogBuilder();
    const { envelope } = log.append(
      'session.opened',
      sample('session.opened', { instructions: 'Be brief.' }),
    );
    expect(log.state()).toMatchObject({
      status: 'idle',
      opened: {
        mode: 'normal',
        instructions: 'Be brief.',
        seq: 1,
        at: envelope.time,
        budgets: {},
        policies: {},
      },
    });
  });

  test('a message waits for a request', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    const { envelope } = log.append('user.message', sample('user.message'));
    expect(log.state()).toMatchObject({
      status: 'running',
      entries: [],
      pending: [
        { kind: 'user', seq: 2, id: envelope.id, text: 'Read README.md', attachments: [], person: 'ada' },
      ],
    });
  });

  test('a repeat by id is dropped', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    const { envelope } = log.append('user.message', sample('user.message'));
    log.append('user.message', sample('user.message'), { id: envelope.id });
    expect(log.state().pending).toHaveLength(1);
    expect(log.state().skipped).toBe(1);
  });

  test('the end of the session', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    log.append('session.closed', sample('session.closed'));
    expect(log.state().closed).toBe(true);
  });
});

test('in a closed session nothing takes what was said last', () => {
  const log = new LogBuilder();
  log.append('session.opened', sample('session.opened'));
  log.append('user.message', sample('user.message'));
  log.append('session.closed', sample('session.closed'));
  expect(log.state().status).toBe('idle');
});

describe('cancel', () => {
  test('of the run under way, the first one counts', () => {
    const log = running();
    const first = log.append('run.cancel', sample('run.cancel'));
    log.append('run.cancel', sample('run.cancel', { by: 'bob' }));
    expect(log.state().run?.cancel).toEqual({
      seq: first.seq,
      id: first.envelope.id,
      reason: 'person',
      by: 'ada',
    });
  });

  test('of a deadline, only for its own run', () => {
    const log = running();
    log.append('run.cancel', sample('run.cancel', { reason: 'budget', by: 'observer', run: 'earlier' }));
    expect(log.state().run?.cancel).toBeNull();
    const run = log.state().run?.id ?? '';
    log.append('run.cancel', sample('run.cancel', { reason: 'budget', by: 'observer', run }));
    expect(log.state().run?.cancel).toMatchObject({ reason: 'budget' });
  });

  test('before the run of a waiting message: meant for that run', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    log.append('user.message', sample('user.message'));
    log.append('run.cancel', sample('run.cancel'));
    expect(log.state().pendingCancel).toMatchObject({ by: 'ada' });
    log.append('run.started', { number: 1 });
    expect(log.state()).toMatchObject({ pendingCancel: null, run: { cancel: { by: 'ada' } } });
  });

  describe('that came as the run ended by itself', () => {
    function ended(
      reason: 'completed' | 'cancelled',
      by: 'person' | 'budget',
      late: 'before' | 'after',
    ): unknown {
      const log = running();
      const throughSeq = log.seq;
      const cancel = sample('run.cancel', {
        reason: by,
        ...(by === 'budget' ? { run: log.state().run?.id } : {}),
      });
      if (late === 'before') log.append('user.message', sample('user.message'));
      log.append('run.cancel', cancel);
      if (late === 'after') log.append('user.message', sample('user.message'));
      log.append('run.finished', sample('run.finished', { reason, throughSeq }));
      return log.state().pendingCancel;
    }

    test('is meant for what was said before it as well', () => {
      expect(ended('completed', 'person', 'before')).toMatchObject({ by: 'ada' });
    });

    test.each([
      ['what was said after it', 'completed', 'person', 'after'],
      ['the next run, once it ended this one', 'cancelled', 'person', 'before'],
      ['another run, when it was a deadline', 'completed', 'budget', 'before'],
    ] as const)('is not meant for %s', (_what, reason, by, late) => {
      expect(ended(reason, by, late)).toBeNull();
    });
  });

  test('of nothing', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    log.append('run.cancel', sample('run.cancel'));
    expect(log.state()).toMatchObject({ pendingCancel: null, run: null });
    log.append('user.message', sample('user.message'));
    log.append('run.cancel', sample('run.cancel', { run: 'earlier', reason: 'budget' }));
    expect(log.state().pendingCancel).toBeNull();
  });
});

describe('runs and requests', () => {
  test('a run begins', () => {
    const log = running();
    expect(log.state()).toMatchObject({
      status: 'running',
      run: { number: 1, startedSeq: 3, turn: 0, usage: NO_USAGE, costUsd: null, last: null, waitedMs: 0 },
    });
  });

  test('a request takes the messages before it and shows its tools', () => {
    const log = running();
    log.append('user.message', sample('user.message', { text: 'and be quick' }));
    log.append('model.requested', sample('model.requested', { throughSeq: 3 }));
    const state = log.state();
    expect(state.entries.map(({ seq }) => seq)).toEqual([2]);
    expect(state.pending.map(({ seq }) => seq)).toEqual([4]);
    expect(state.tools.map(({ name }) => name)).toEqual(['read_file', 'write_file']);
    expect(state.request).toMatchObject({ turn: 1, throughSeq: 3, attempt: null, retries: 0, seq: 5 });
    expect(state.run?.turn).toBe(1);
  });

  test('a request that takes nothing leaves the entries as they are', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Wait.' }], 'pause');
    const { entries } = log.state();
    log.append('model.requested', sample('model.requested', { because: 'pause', throughSeq: log.seq }), {
      turn: 1,
    });
    expect(log.state().entries).toEqual(entries);
    expect(log.state().run?.turn).toBe(1);
  });

  test('attempts and retries are counted and charged', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    log.append('model.attempt.started', sample('model.attempt.started'));
    const usage = { inputUncached: 5, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: null };
    log.append('model.retrying', sample('model.retrying', { usage }));
    log.append('model.attempt.started', sample('model.attempt.started', { attempt: 2 }));
    expect(log.state()).toMatchObject({
      request: { attempt: { number: 2, worker: 'provider-gateway/w1' }, retries: 1 },
      run: { usage },
      usage,
    });
  });

  test('a message answers the request, is charged and declares its calls', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Look:' }, toolCall('call-1'), toolCall('call-2', 'write_file')]);
    const state = log.state();
    expect(state.request).toBeNull();
    expect(state.run).toMatchObject({ last: { kind: 'message', stop: 'tool_calls' }, cutInRow: 0 });
    expect(state.entries.at(-1)).toMatchObject({ kind: 'assistant', turn: 1, stop: 'tool_calls' });
    expect(state.calls['call-1']).toMatchObject({
      stage: 'declared',
      readOnly: true,
      turn: 1,
      proposer: 'model',
    });
    expect(state.calls['call-2']).toMatchObject({ stage: 'declared', readOnly: false });
    expect(totalTokens(state.usage)).toBe(150);
    expect(state.status).toBe('waiting_for_tool');
  });

  test('a tool that was not shown is no read-only one', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1', 'surprise')]);
    expect(log.state().calls['call-1']?.readOnly).toBe(false);
  });

  test('the same id in a later message is the same call', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1')]);
    takeCall(log, 'call-1', 'observed');
    modelTurn(log, [toolCall('call-1')]);
    expect(log.state().calls['call-1']).toMatchObject({ stage: 'observed', turn: 1 });
  });

  test('a stray that came first is the tail of the declared call', () => {
    const log = running();
    const junk = log.junk('i', 'call-1');
    modelTurn(log, [toolCall('call-1')]);
    expect(log.state().calls['call-1']?.tail.seq).toBe(junk.seq);
    expect(log.state().strayTails).toEqual({});
  });

  test('answers that were cut with calls in them are counted in a row', () => {
    const log = running();
    const cut = {
      type: 'rejected_call',
      intent: 'c',
      tool: 'bash',
      raw: '{',
      why: 'max_tokens',
      providerRef: 'r',
    } as const;
    modelTurn(log, [cut], 'max_tokens');
    expect(log.state().run?.cutInRow).toBe(1);
    modelTurn(log, [{ ...cut, intent: 'd' }], 'max_tokens');
    expect(log.state().run?.cutInRow).toBe(2);
    modelTurn(log, [{ type: 'text', text: 'x' }], 'max_tokens');
    expect(log.state().run?.cutInRow).toBe(0);
    expect(log.state().calls).toEqual({});
  });

  test('a failure ends the request, is charged and remembered', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    const failed = log.append('model.failed', sample('model.failed', { scriptUnused: [1] }));
    expect(log.state()).toMatchObject({
      request: null,
      costUsd: 0.01,
      scriptUnused: [1],
      run: { last: { kind: 'failed', category: 'overloaded', seq: failed.seq } },
      lastError: { code: 'overloaded', message: 'gave up', seq: failed.seq },
    });
  });

  test('turns of the script that are left', () => {
    const log = running();
    log.append('model.requested', sample('model.requested'));
    log.append('model.attempt.started', sample('model.attempt.started'));
    log.append('model.message', sample('model.message', { scriptUnused: [2, 3] }));
    expect(log.state().scriptUnused).toEqual([2, 3]);
    modelTurn(log, []);
    expect(log.state().scriptUnused).toEqual([2, 3]);
  });

  test.each([
    ['completed', 'completed'],
    ['cancelled', 'idle'],
    ['budget', 'failed'],
    ['model_failed', 'failed'],
  ] as const)('a run that ends %s leaves the session %s', (reason, status) => {
    const log = running();
    const finished = log.append('run.finished', sample('run.finished', { reason, throughSeq: log.seq }));
    expect(log.state()).toMatchObject({
      status,
      run: null,
      request: null,
      lastRun: { number: 1, reason, seq: finished.seq },
    });
  });

  test('a message that came after the end of a run waits for the next one', () => {
    const log = running();
    log.append('user.message', sample('user.message', { text: 'more' }));
    log.append('run.finished', sample('run.finished', { reason: 'cancelled', throughSeq: 3 }));
    const state = log.state();
    expect(state.entries.map(({ seq }) => seq)).toEqual([2]);
    expect(state.pending.map(({ seq }) => seq)).toEqual([4]);
    expect(state.status).toBe('running');
  });

  test('a cancel that came as its run ended by itself covers what was said before it', () => {
    const log = running();
    log.append('user.message', sample('user.message', { text: 'more' }));
    const cancel = log.append('run.cancel', sample('run.cancel'));
    log.append('run.finished', sample('run.finished', { reason: 'completed', throughSeq: 0 }));
    expect(log.state()).toMatchObject({ run: null, pendingCancel: { seq: cancel.seq } });
    log.append('run.started', sample('run.started', { number: 2 }));
    expect(log.state().run?.cancel).toMatchObject({ seq: cancel.seq });
  });

  test('a cancel of a run is spent with it when nothing was said before it', () => {
    const log = running();
    log.append('model.requested', sample('model.requested', { throughSeq: log.seq }));
    log.append('run.cancel', sample('run.cancel'));
    log.append('user.message', sample('user.message', { text: 'more' }));
    log.append('run.finished', sample('run.finished', { reason: 'completed', throughSeq: 0 }));
    expect(log.state().pendingCancel).toBeNull();
  });

  test('a closed session does not wait for a run that cannot start', () => {
    const log = running();
    log.append('user.message', sample('user.message', { text: 'more' }));
    log.append('session.closed', sample('session.closed'));
    log.append('run.finished', sample('run.finished', { reason: 'completed', throughSeq: 0 }));
    expect(log.state().status).toBe('completed');
  });

  test('a compaction puts a summary in the place of what it replaces', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Hello.' }]);
    log.append('user.message', sample('user.message', { text: 'more' }));
    modelTurn(log, [{ type: 'text', text: 'More.' }], 'context_window');
    const compacted = log.append(
      'context.compacted',
      sample('context.compacted', { replaced: { fromSeq: 1, throughSeq: 6 }, summary: 'Greetings.' }),
    );
    const state = log.state();
    expect(state.entries.map(({ kind, seq }) => [kind, seq])).toEqual([
      ['summary', 6],
      ['user', 7],
      ['assistant', 10],
    ]);
    expect(state.run?.compactions).toBe(1);
    expect(state.compacted).toEqual([{ seq: compacted.seq, entries: log.state(10).entries }]);
  });

  test('a compaction of the whole conversation leaves the summary', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Hello.' }], 'context_window');
    log.append('context.compacted', sample('context.compacted', { replaced: { fromSeq: 0, throughSeq: 6 } }));
    expect(log.state().entries.map(({ kind }) => kind)).toEqual(['summary']);
  });

  test('a compaction of nothing stands at the end', () => {
    const log = running();
    log.append('context.compacted', sample('context.compacted', { replaced: { fromSeq: 0, throughSeq: 3 } }));
    expect(log.state().entries.map(({ kind }) => kind)).toEqual(['summary']);
    expect(log.state().pending).toHaveLength(1);
  });

  test('a compaction keeps the calls it names, after the summary', () => {
    const log = running();
    modelTurn(log, [{ type: 'text', text: 'Look.' }, toolCall('call-1'), toolCall('call-2')]);
    takeCall(log, 'call-1', 'observed');
    takeCall(log, 'call-2', 'observed');
    log.append(
      'context.compacted',
      sample('context.compacted', {
        replaced: { fromSeq: 1, throughSeq: log.seq },
        kept: [{ intent: 'call-2' }],
      }),
    );
    expect(log.state().entries).toMatchObject([
      { kind: 'summary' },
      { kind: 'assistant', parts: [{ type: 'tool_call', intent: 'call-2' }] },
    ]);
  });
});

describe('calls', () => {
  test('a proposal takes its place in the lane', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1')]);
    const { seq, envelope } = log.append('tool.intent', sample('tool.intent'), { intent: 'call-1' });
    expect(log.state().calls['call-1']).toMatchObject({
      stage: 'proposed',
      step: { seq, type: 'tool.intent', id: envelope.id, nonce: envelope.nonce },
      tail: { seq },
    });
  });

  test.each([
    'validated',
    'invalid',
    'asked',
    'allowed',
    'denied',
    'cancelled',
    'started',
    'completed',
    'observed',
  ] as const)('comes to %s', (stage) => {
    const log = running();
    modelTurn(log, [toolCall('call-1')]);
    takeCall(log, 'call-1', stage);
    expect(log.state()).toMatchObject({ skipped: 0, calls: { 'call-1': { stage } } });
  });

  test('remembers the permit, the claim and the observation', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1')]);
    takeCall(log, 'call-1', 'observed');
    expect(log.state().calls['call-1']).toMatchObject({
      allowed: { pool: 'fs', expiresAt: '2026-11-30T13:00:00.000Z' },
      claim: { pool: 'fs', worker: 'executors/w1', epoch: 1 },
      observation: { ending: 'success', isError: false, parts: [{ label: 'untrusted', text: 'hello' }] },
    });
  });

  test('what was read is a baseline; a later read replaces it', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1'), toolCall('call-2')]);
    for (const [intent, digit] of [
      ['call-1', '1'],
      ['call-2', '2'],
    ] as const) {
      takeCall(log, intent, 'started');
      const claimSeq = log.seq;
      const reads = [
        { path: '/srv/demo/README.md', sha256: sha(digit), range: null },
        { path: '__proto__', sha256: sha(digit), range: { from: 1, to: 2 } },
      ];
      log.append('tool.execution.completed', sample('tool.execution.completed', { claimSeq, reads }), {
        intent,
      });
    }
    const { baselines } = log.state();
    expect(Object.keys(baselines).sort()).toEqual(['/srv/demo/README.md', '__proto__']);
    expect(baselines['/srv/demo/README.md']).toEqual({ sha256: sha('2'), range: null, seq: log.seq });
  });

  test('an edit stands in the place of the call it edits', () => {
    const { log } = asking();
    const denied = sample('tool.approval.denied', { kind: 'superseded', by: 'edit-1', rule: null });
    log.append('tool.approval.denied', denied, { intent: 'call-1' });
    const supersedes = { intent: 'call-1', answerId: 'a', person: 'ada' };
    log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), {
      intent: 'edit-1',
    });
    expect(log.state().calls).toMatchObject({
      'call-1': { stage: 'denied', supersededBy: 'edit-1' },
      'edit-1': { stage: 'proposed', supersedes: 'call-1', readOnly: true, turn: 1, proposer: 'person' },
    });
  });

  test('an undo belongs to no turn; a stray before it is its tail', () => {
    const log = running();
    log.junk('i', 'undo-1');
    const undo = log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), {
      intent: 'undo-1',
    });
    expect(log.state()).toMatchObject({
      strayTails: {},
      calls: {
        'undo-1': { run: null, turn: null, readOnly: false, supersedes: null, tail: { seq: undo.seq } },
      },
    });
  });
});

describe('answers', () => {
  test('the first one to the open ask is noted', () => {
    const { log, askedId } = asking();
    const first = log.append('tool.answer', sample('tool.answer', { askedId }));
    log.append('tool.answer', sample('tool.answer', { askedId, verdict: 'reject' }));
    expect(log.state().calls['call-1']?.asked?.answer).toEqual({ seq: first.seq, id: first.envelope.id });
  });

  test.each([
    ['another ask', { askedId: '01KB9YGW0000000000000ZZZZZ' }],
    ['another binding', { bindingSha256: sha('9') }],
    ['an unknown call', { intent: 'call-9' }],
    ['no call', { intent: 'constructor' }],
  ])('an answer to %s is not', (_what, other) => {
    const { log, askedId } = asking();
    log.append('tool.answer', sample('tool.answer', { askedId, ...other }));
    expect(log.state().calls['call-1']?.asked?.answer).toBeNull();
  });

  test('an answer after the decision is not', () => {
    const { log, askedId } = asking();
    log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'expired' }), {
      intent: 'call-1',
    });
    log.append('tool.answer', sample('tool.answer', { askedId }));
    expect(log.state().calls['call-1']?.asked?.answer).toBeNull();
  });

  test('a fresh ask forgets the answer to the one before', () => {
    const { log, askedId } = asking();
    log.append('tool.answer', sample('tool.answer', { askedId }));
    const fresh = log.append('tool.approval.asked', sample('tool.approval.asked'), { intent: 'call-1' });
    expect(log.state().calls['call-1']?.asked).toMatchObject({ id: fresh.envelope.id, answer: null });
  });
});

describe('the clock of a run', () => {
  test('stands still while only a person can go on', () => {
    const { log } = asking();
    expect(log.state()).toMatchObject({ status: 'waiting_for_approval', run: { waitedMs: 0 } });
    const since = log.state().run?.waitingSince;
    expect(since).not.toBeNull();
    log.append('tool.approval.denied', sample('tool.approval.denied'), { intent: 'call-1', afterMs: 60_000 });
    expect(log.state()).toMatchObject({
      status: 'waiting_for_tool',
      run: { waitedMs: 60_000, waitingSince: null },
    });
  });

  test('runs while another call of the group goes on', () => {
    const log = running();
    modelTurn(log, [toolCall('call-1'), toolCall('call-2')]);
    takeCall(log, 'call-1', 'asked');
    expect(log.state()).toMatchObject({ status: 'waiting_for_tool', run: { waitingSince: null } });
    takeCall(log, 'call-2', 'observed');
    expect(log.state().status).toBe('waiting_for_approval');
  });

  test('a time that goes backwards is no negative wait', () => {
    const { log } = asking();
    log.append('tool.approval.denied', sample('tool.approval.denied'), { intent: 'call-1', afterMs: -5000 });
    expect(log.state().run?.waitedMs).toBe(0);
  });
});

describe('sums', () => {
  test('usage: null adds nothing, reasoning is known once it was told', () => {
    const told = { inputUncached: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 5 };
    expect(addUsage(NO_USAGE, null)).toBe(NO_USAGE);
    expect(addUsage(NO_USAGE, { ...told, reasoning: null }).reasoning).toBeNull();
    expect(addUsage(addUsage(NO_USAGE, told), told)).toMatchObject({ reasoning: 10, output: 8 });
    expect(addUsage(told, { ...told, reasoning: null }).reasoning).toBe(5);
  });

  test('cost: unknown until a figure comes', () => {
    expect(addCost(null, null)).toBeNull();
    expect(addCost(null, 0.5)).toBe(0.5);
    expect(addCost(0.5, null)).toBe(0.5);
    expect(addCost(0.5, 0.25)).toBe(0.75);
  });
});

test('fold folds in order', () => {
  const log = running();
  const start = initialState('local', 'demo');
  expect(fold(start, log.entries)).toEqual(log.state());
  expect(fold(start, [])).toBe(start);
});
