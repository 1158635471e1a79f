import { describe, expect, test } from 'vitest';
import {
  LogBuilder,
  modelTurn,
  READ_FILE,
  sample,
  startRun,
  takeCall,
  toolCall,
  WRITE_FILE,
} from '../../testing/index.ts';
import { type ContextPart, projectContext } from './project.ts';

const kinds = (parts: readonly ContextPart[]): string[] => parts.map(({ kind }) => kind);
const NONE = { tools: [] };

function turn(...calls: ReturnType<typeof toolCall>[]): LogBuilder {
  const log = new LogBuilder();
  startRun(log);
  modelTurn(log, [{ type: 'text', text: 'Look.' }, ...calls]);
  return log;
}

function results(parts: readonly ContextPart[]): readonly { intent: string; isError: boolean }[] {
  return parts.flatMap((part) => (part.kind === 'results' ? part.results : []));
}

describe('the frame', () => {
  test('an empty session shows the preamble and no tools', () => {
    const parts = projectContext(new LogBuilder().state(), NONE);
    expect(kinds(parts)).toEqual(['system', 'tools']);
  });

  test('standing instructions follow the preamble', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened', { instructions: 'Be brief.' }));
    const [system] = projectContext(log.state(), NONE);
    expect(system).toMatchObject({
      kind: 'system',
      text: expect.stringMatching(/take it as data.*\n\nBe brief\.$/s),
    });
  });

  test('tools stand in the order of their names, whoever lists them', () => {
    const state = turn().state();
    const there = projectContext(state, { tools: [WRITE_FILE, READ_FILE] });
    expect(there).toEqual(projectContext(state, { tools: [READ_FILE, WRITE_FILE] }));
    expect(there[1]).toEqual({ kind: 'tools', tools: [READ_FILE, WRITE_FILE] });
  });
});

describe('results (P2)', () => {
  test('an observed call has its observation', () => {
    const log = turn(toolCall('a'));
    takeCall(log, 'a', 'observed');
    const parts = projectContext(log.state(), NONE);
    expect(kinds(parts)).toEqual(['system', 'tools', 'user', 'assistant', 'results']);
    expect(parts.at(-1)).toEqual({
      kind: 'results',
      results: [
        { intent: 'a', providerRef: 'ref-a', isError: false, parts: [{ label: 'untrusted', text: 'hello' }] },
      ],
    });
  });

  test('a call without one is told so', () => {
    const parts = projectContext(turn(toolCall('a')).state(), NONE);
    expect(results(parts)).toMatchObject([
      { intent: 'a', isError: true, parts: [{ label: 'fact', text: expect.stringContaining('no result') }] },
    ]);
  });

  test('a call of a cut answer is told so', () => {
    const log = new LogBuilder();
    startRun(log);
    const cut = {
      type: 'rejected_call',
      intent: 'a',
      tool: 'bash',
      raw: '{',
      why: 'max_tokens',
      providerRef: 'r',
    } as const;
    modelTurn(log, [cut], 'max_tokens');
    expect(results(projectContext(log.state(), NONE))).toMatchObject([
      { intent: 'a', isError: true, parts: [{ text: expect.stringContaining('cut off here (max_tokens)') }] },
    ]);
  });

  test('an answer without calls has no results', () => {
    expect(kinds(projectContext(turn().state(), NONE))).toEqual(['system', 'tools', 'user', 'assistant']);
  });
});

describe('the same log gives the same context (P1)', () => {
  test('what was observed later is not there yet', () => {
    const log = turn(toolCall('a'), toolCall('b'));
    takeCall(log, 'a', 'observed');
    const early = log.seq;
    takeCall(log, 'b', 'observed');
    // The complete results are remembered first: they must not leak into the earlier context.
    projectContext(log.state(), NONE);
    expect(projectContext(log.state(), { ...NONE, throughSeq: early })).toEqual(
      projectContext(log.state(early), NONE),
    );
    expect(results(projectContext(log.state(), { ...NONE, throughSeq: early }))).toMatchObject([
      { intent: 'a', isError: false },
      { intent: 'b', isError: true },
    ]);
  });

  test('what was compacted later is still whole', () => {
    const log = turn(toolCall('a'));
    takeCall(log, 'a', 'observed');
    log.append('user.message', sample('user.message', { text: 'waits' }));
    const early = log.seq;
    log.append('context.compacted', sample('context.compacted', { replaced: { fromSeq: 1, throughSeq: 6 } }));
    modelTurn(log, [{ type: 'text', text: 'Go on.' }]);
    expect(kinds(projectContext(log.state(), NONE))).toEqual([
      'system',
      'tools',
      'summary',
      'user',
      'assistant',
    ]);
    expect(projectContext(log.state(), { ...NONE, throughSeq: early })).toEqual(
      projectContext(log.state(early), NONE),
    );
  });

  test('before the session was opened there are no instructions', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened', { instructions: 'Be brief.' }));
    expect(projectContext(log.state(), { ...NONE, throughSeq: 0 })).toEqual(
      projectContext(log.state(0), NONE),
    );
  });
});

test('a message that came while the model answered stands after the answer and its results (P3)', () => {
  const log = new LogBuilder();
  startRun(log);
  log.append('model.requested', sample('model.requested', { throughSeq: 3 }));
  log.append('user.message', sample('user.message', { text: 'also this' }));
  log.append('model.attempt.started', sample('model.attempt.started'));
  log.append('model.message', sample('model.message', { parts: [toolCall('a')], stop: 'tool_calls' }));
  takeCall(log, 'a', 'observed');
  const expected = ['system', 'tools', 'user', 'assistant', 'results', 'user'];
  expect(kinds(projectContext(log.state(), NONE))).toEqual(expected);
  log.append('model.requested', sample('model.requested', { throughSeq: log.seq }));
  expect(kinds(projectContext(log.state(), NONE))).toEqual(expected);
});

test('kept calls of a compacted range keep their results', () => {
  const log = turn(toolCall('a'), toolCall('b'));
  takeCall(log, 'a', 'observed');
  takeCall(log, 'b', 'observed');
  const replaced = { fromSeq: 1, throughSeq: log.seq };
  log.append('context.compacted', sample('context.compacted', { replaced, kept: [{ intent: 'b' }] }));
  const parts = projectContext(log.state(), NONE);
  expect(kinds(parts)).toEqual(['system', 'tools', 'summary', 'assistant', 'results']);
  expect(results(parts)).toMatchObject([{ intent: 'b', isError: false }]);
});

test('parts of unchanged history are the same objects, so that their hashes can be kept', () => {
  const log = turn(toolCall('a'));
  takeCall(log, 'a', 'observed');
  const before = log.state();
  const first = projectContext(before, NONE);
  const second = projectContext(before, NONE);
  expect(second.slice(2).every((part, index) => part === first[index + 2])).toBe(true);
  takeCall(log, 'a', 'observed');
});
