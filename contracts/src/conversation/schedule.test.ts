import { describe, expect, test } from 'vitest';
import { LogBuilder, modelTurn, sample, startRun, takeCall, toolCall } from '../../testing/index.ts';
import {
  currentMessage,
  declaredCalls,
  isWaitingForPeople,
  openCalls,
  runnable,
  standing,
} from './schedule.ts';
import type { CallState, ConversationState } from './state.ts';

const ids = (calls: readonly CallState[]): string[] => calls.map(({ intent }) => intent);
const read = (intent: string): ReturnType<typeof toolCall> => toolCall(intent, 'read_file');
const write = (intent: string): ReturnType<typeof toolCall> => toolCall(intent, 'write_file');

/** A turn with these calls. */
function turn(...calls: ReturnType<typeof toolCall>[]): LogBuilder {
  const log = new LogBuilder();
  startRun(log);
  modelTurn(log, calls);
  return log;
}

/** Supersedes a call that waits for a person. */
function edit(log: LogBuilder, intent: string, by: string): void {
  takeCall(log, intent, 'asked');
  log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by }), { intent });
  const supersedes = { intent, answerId: 'a', person: 'ada' };
  const { tool = 'read_file' } = log.state().calls[intent] ?? {};
  log.append('tool.intent', sample('tool.intent', { tool, proposer: 'person', supersedes }), { intent: by });
}

function undo(log: LogBuilder, intent: string): void {
  log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), { intent });
}

describe('without a turn', () => {
  test('nothing is open', () => {
    const state = new LogBuilder().state();
    expect(currentMessage(state)).toBeNull();
    expect(declaredCalls(state)).toEqual([]);
    expect(openCalls(state)).toEqual([]);
    expect(runnable(state)).toEqual([]);
    expect(isWaitingForPeople(state)).toBe(false);
  });

  test('the message of an earlier run is not the current one', () => {
    const log = turn(read('a'));
    takeCall(log, 'a', 'observed');
    log.append('run.finished', sample('run.finished'));
    expect(currentMessage(log.state())).toBeNull();
    startRun(log);
    expect(currentMessage(log.state())).toBeNull();
    expect(openCalls(log.state())).toEqual([]);
  });
});

describe('groups and barriers', () => {
  test('read-only calls run side by side', () => {
    expect(ids(runnable(turn(read('a'), read('b'), read('c')).state()))).toEqual(['a', 'b', 'c']);
  });

  test('a call that writes waits for those before it', () => {
    const log = turn(read('a'), read('b'), write('c'), read('d'));
    expect(ids(runnable(log.state()))).toEqual(['a', 'b']);
    takeCall(log, 'b', 'observed');
    expect(ids(runnable(log.state()))).toEqual(['a']);
    takeCall(log, 'a', 'observed');
    expect(ids(runnable(log.state()))).toEqual(['c']);
    takeCall(log, 'c', 'observed');
    expect(ids(runnable(log.state()))).toEqual(['d']);
    takeCall(log, 'd', 'observed');
    expect(runnable(log.state())).toEqual([]);
  });

  test('two calls that write run one after the other', () => {
    const log = turn(write('a'), write('b'));
    expect(ids(runnable(log.state()))).toEqual(['a']);
    takeCall(log, 'a', 'completed');
    expect(ids(runnable(log.state()))).toEqual(['a']);
    takeCall(log, 'a', 'observed');
    expect(ids(runnable(log.state()))).toEqual(['b']);
  });

  test('an unknown tool is a barrier', () => {
    expect(ids(runnable(turn(toolCall('a', 'surprise'), read('b')).state()))).toEqual(['a']);
  });

  test('calls of a cut answer are no calls', () => {
    const log = new LogBuilder();
    startRun(log);
    modelTurn(
      log,
      [
        {
          type: 'rejected_call',
          intent: 'a',
          tool: 'read_file',
          raw: '{',
          why: 'max_tokens',
          providerRef: 'r',
        },
      ],
      'max_tokens',
    );
    expect(openCalls(log.state())).toEqual([]);
  });

  test('of the run nothing goes on once it is cancelled; its calls are still open', () => {
    const log = turn(read('a'), write('b'));
    log.append('run.cancel', sample('run.cancel'));
    expect(runnable(log.state())).toEqual([]);
    expect(ids(openCalls(log.state()))).toEqual(['a', 'b']);
  });
});

describe('edits', () => {
  test('stand in the place of what they edit', () => {
    const log = turn(write('a'), read('b'));
    edit(log, 'a', 'a2');
    expect(ids(openCalls(log.state()))).toEqual(['a2', 'b']);
    expect(ids(runnable(log.state()))).toEqual(['a2']);
  });

  test('of edits are followed to the last', () => {
    const log = turn(write('a'));
    edit(log, 'a', 'a2');
    edit(log, 'a2', 'a3');
    const state = log.state();
    expect(standing(state, state.calls.a as CallState).intent).toBe('a3');
    expect(ids(openCalls(state))).toEqual(['a3']);
  });

  test('between the two events of the batch the old call stands for itself', () => {
    const log = turn(write('a'));
    takeCall(log, 'a', 'asked');
    log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by: 'a2' }), {
      intent: 'a',
    });
    expect(ids(openCalls(log.state()))).toEqual(['a']);
  });

  test('keep the turn open until the old call is observed as well', () => {
    const log = turn(write('a'), read('b'));
    edit(log, 'a', 'a2');
    takeCall(log, 'a2', 'observed');
    expect(ids(openCalls(log.state()))).toEqual(['a2', 'b']);
    log.append('tool.observation', sample('tool.observation', { insteadOf: 'a' }), { intent: 'a' });
    expect(ids(openCalls(log.state()))).toEqual(['b']);
  });
});

describe('undo', () => {
  test('runs beside the turn, and without a run', () => {
    const log = turn(write('a'));
    undo(log, 'undo-1');
    expect(ids(runnable(log.state()))).toEqual(['undo-1', 'a']);
    expect(ids(openCalls(log.state()))).toEqual(['a']);
    takeCall(log, 'a', 'observed');
    log.append('run.finished', sample('run.finished'));
    expect(ids(runnable(log.state()))).toEqual(['undo-1']);
    takeCall(log, 'undo-1', 'observed');
    expect(runnable(log.state())).toEqual([]);
  });

  test('goes on when the run is cancelled', () => {
    const log = turn(write('a'));
    undo(log, 'undo-1');
    log.append('run.cancel', sample('run.cancel'));
    expect(ids(runnable(log.state()))).toEqual(['undo-1']);
  });

  test('that was edited goes on as its edit', () => {
    const log = turn();
    undo(log, 'undo-1');
    edit(log, 'undo-1', 'undo-2');
    expect(ids(runnable(log.state()))).toEqual(['undo-2']);
  });
});

describe('waiting for people', () => {
  const waiting = (state: ConversationState): boolean => isWaitingForPeople(state);

  test('when all that may go on was asked', () => {
    const log = turn(read('a'), read('b'), write('c'));
    takeCall(log, 'a', 'asked');
    expect(waiting(log.state())).toBe(false);
    takeCall(log, 'b', 'asked');
    expect(waiting(log.state())).toBe(true);
  });

  test('not when the run is cancelled', () => {
    const log = turn(read('a'));
    takeCall(log, 'a', 'asked');
    log.append('run.cancel', sample('run.cancel'));
    expect(waiting(log.state())).toBe(false);
  });

  test('an undo is not what the run waits for', () => {
    const log = turn(read('a'));
    takeCall(log, 'a', 'asked');
    undo(log, 'undo-1');
    expect(waiting(log.state())).toBe(true);
    const other = turn(read('a'));
    undo(other, 'undo-1');
    takeCall(other, 'undo-1', 'asked');
    expect(waiting(other.state())).toBe(false);
  });
});
