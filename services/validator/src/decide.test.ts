import type { PreflightReplyV1 } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import {
  accepted,
  assessment,
  digestOf,
  readFile,
  secretTool,
  WORKSPACE,
  writeFile,
} from '../test/samples.ts';
import { called, type Story, type StoryOptions } from '../test/story.ts';
import { conclude, decide, freesNothing, poolUnavailable, type Question, readyCalls } from './decide.ts';
import { createSchemaCheck } from './schema.ts';
import { notShown, visibleTool } from './semantic.ts';

const check = createSchemaCheck();
const NOW = new Date(Date.UTC(2026, 10, 30, 12, 1));

describe('schedule', () => {
  const ready = (story: Story): string[] => readyCalls(story.state()).map(({ call }) => call.intent);

  test('neighbouring read-only calls go side by side, a barrier waits', () => {
    const story = called(['read_file', 'read_file', 'write_file', 'read_file']);
    story.derive('i1', 'i2', 'i3', 'i4');
    expect(ready(story)).toEqual(['i1', 'i2']);
    story.observe('i1');
    expect(ready(story)).toEqual(['i2']);
    story.observe('i2');
    expect(ready(story)).toEqual(['i3']);
    story.observe('i3');
    expect(ready(story)).toEqual(['i4']);
  });

  test('a call behind one that is not derived yet waits', () => {
    const story = called(['write_file', 'write_file']);
    story.derive('i2');
    expect(ready(story)).toEqual([]);
    story.derive('i1');
    expect(ready(story)).toEqual(['i1']);
  });

  test('a tool nobody knows is a barrier', () => {
    const story = called(['no_such_tool', 'read_file']);
    story.derive('i1', 'i2');
    expect(ready(story)).toEqual(['i1']);
  });

  test('nothing of a cancelled run goes on', () => {
    const story = called(['read_file']);
    story.derive('i1');
    story.append('run.cancel', { reason: 'person', by: 'ada' });
    expect(ready(story)).toEqual([]);
  });

  test('a validated call is not ready again', () => {
    const story = called(['read_file']);
    story.derive('i1');
    story.observe('i1');
    expect(ready(story)).toEqual([]);
    expect(story.state().proposals).toEqual({});
  });

  test('an edit stands in the place of what it edits', () => {
    const story = called(['write_file', 'write_file']);
    story.derive('i1', 'i2');
    const input = { path: 'a', content: '' };
    story.append(
      'tool.validated',
      {
        tool: 'write_file',
        pool: 'fs',
        toolDigest: digestOf(writeFile),
        input,
        inputSha256: 'a'.repeat(64),
        changes: [],
        assessment,
        baselines: [],
        sandboxLevel: 'A',
      },
      'i1',
    );
    const superseded = {
      kind: 'superseded',
      rule: null,
      reason: 'x',
      verdicts: [],
      person: 'ada',
      by: 'e1',
    } as const;
    story.append('tool.approval.denied', { ...superseded, verdicts: [] }, 'i1');
    const supersedes = { intent: 'i1', answerId: '01J00000000000000000000000', person: 'ada' };
    story.append(
      'tool.intent',
      { tool: 'write_file', rawInput: input, inputFormat: 'json', proposer: 'person', supersedes },
      'e1',
    );
    expect(ready(story)).toEqual(['e1']);
  });
});

describe('an observation that frees nothing, as an old state proves it', () => {
  test.each<[string, string[], (story: Story) => void, boolean]>([
    ['the only call', ['write_file'], (story) => story.derive('i1'), true],
    [
      'a call behind it is proposed',
      ['write_file', 'write_file'],
      (story) => story.derive('i1', 'i2'),
      false,
    ],
    [
      'a call behind it is not derived yet',
      ['write_file', 'write_file'],
      (story) => story.derive('i1'),
      false,
    ],
    [
      'every other is past validation',
      ['read_file', 'read_file'],
      (story) => {
        story.derive('i1', 'i2');
        story.observe('i2');
      },
      true,
    ],
    ['a call that the old state does not know', [], () => undefined, false],
  ])('%s', (_name, tools, tell, nothing) => {
    const story = called(tools);
    tell(story);
    expect(freesNothing(story.state().conversation, 'i1')).toBe(nothing);
  });
});

function question(
  over: Partial<Question['proposal']> = {},
  options: StoryOptions = {},
  tool = readFile,
): Question {
  const story = called([tool.name], options);
  const state = story.state().conversation;
  const shown = { name: tool.name, digest: digestOf(tool), pool: tool.pool, readOnly: tool.readOnly };
  const proposal = {
    tool: tool.name,
    rawInput: { path: 'a' },
    inputFormat: 'json',
    proposer: 'model',
    ...over,
  } as const;
  return {
    state,
    intent: 'i1',
    proposal,
    tool: visibleTool(state, tool.name) ?? shown,
    definition: tool,
    now: NOW,
  };
}

const codesOf = (asked: Question): string[] => {
  const step = decide(asked, check);
  return step.kind === 'fail' ? step.errors.map(({ code }) => code) : [];
};

describe('refused before anyone is asked', () => {
  test.each<[string, Question, string]>([
    [
      'arguments that are not JSON',
      question({ inputFormat: 'text', rawInput: '{"path": "a' }),
      'malformed_arguments',
    ],
    ['arguments that came as text', question({ inputFormat: 'text', rawInput: '{}' }), 'malformed_arguments'],
    ['arguments that do not fit', question({ rawInput: { path: 1 } }), 'schema_mismatch'],
    [
      'a tool that the mode does not show',
      question({ rawInput: { path: 'a', content: '' } }, { mode: 'read-only' }, writeFile),
      'tool_not_visible',
    ],
    ['tokens used up', question({}, { budgets: { maxTokens: 1000 } }), 'budget_exhausted'],
    ['money used up', question({}, { budgets: { maxCostUsd: 0.5 } }), 'budget_exhausted'],
    ['time used up', question({}, { budgets: { maxWallMs: 57_000 } }), 'budget_exhausted'],
  ])('%s', (_name, asked, code) => {
    expect(codesOf(asked)).toEqual([code]);
  });

  test('structure comes before meaning', () => {
    expect(codesOf(question({ rawInput: {} }, { budgets: { maxTokens: 1 } }))).toEqual(['schema_mismatch']);
  });

  test('why the arguments are not JSON', () => {
    const step = decide(question({ inputFormat: 'text', rawInput: '{"path": ' }), check);
    expect(step.kind === 'fail' && step.errors[0]?.message).toContain('Unexpected end of JSON input');
  });
});

describe('a tool the model was not shown', () => {
  const state = called([]).state().conversation;

  test('unknown: the nearest visible name', () => {
    expect(notShown(state, 'readFile', false)).toMatchObject({
      code: 'unknown_tool',
      message: 'There is no tool "readFile".',
      advice: 'Did you mean "read_file"? The tools are: read_file, write_file.',
    });
  });
  test('unknown, and like none', () => {
    expect(notShown(state, 'zzz', false).advice).toContain('listed in the request');
  });
  test('registered all the same', () => {
    expect(notShown(state, secretTool.name, true)).toMatchObject({ code: 'tool_not_visible' });
  });
  test('a name full of tricks is cut and quoted', () => {
    expect(notShown(state, `\u001b[2J${'x'.repeat(500)}`, false).message).toMatch(
      /^There is no tool "\\u001b\[2Jx{76}"\.$/,
    );
  });
});

describe('a question to the pool', () => {
  test('with all that it needs to look at the files', () => {
    const story = called(['read_file']);
    const step = decide({ ...question(), state: withBaseline(story) }, check);
    expect(step).toEqual({
      kind: 'preflight',
      pool: 'fs',
      request: {
        session: 's1',
        intent: 'i1',
        tool: 'read_file',
        toolDigest: digestOf(readFile),
        input: { path: 'a' },
        workspace: WORKSPACE,
        mode: 'normal',
        reads: [{ path: '/home/dev/app/b', sha256: 'b'.repeat(64) }],
      },
    });
  });

  test('within budgets', () => {
    const budgets = { maxTokens: 1001, maxCostUsd: 0.51, maxWallMs: 58_000 };
    expect(decide(question({}, { budgets }), check).kind).toBe('preflight');
  });

  test('in replay no executor is asked', () => {
    expect(decide(question({}, { mode: 'replay' }), check)).toMatchObject({ pool: 'recorded' });
  });

  function withBaseline(story: Story): Question['state'] {
    const { conversation } = story.state();
    return {
      ...conversation,
      baselines: { '/home/dev/app/b': { sha256: 'b'.repeat(64), range: null, seq: 1 } },
    };
  }
});

describe("the pool's answer", () => {
  const step = decide(question(), check);
  if (step.kind !== 'preflight') throw new Error('no question');

  test('errors fail the call as they are', () => {
    const error = { path: '/path', code: 'file_not_found', message: 'No.', advice: 'Look.' } as const;
    expect(conclude(step, { ok: true, errors: [error] })).toEqual({ kind: 'fail', errors: [error] });
  });

  test.each<[string, PreflightReplyV1]>([
    ['an error of its own', { ok: false, code: 'internal', message: 'down' }],
    ['neither yes nor no', { ok: true, errors: [] }],
  ])('%s is no answer', (_name, reply) => {
    expect(conclude(step, reply).kind).toBe('unusable');
  });

  test('accepted: the normalised input, its hash, and the digest the model was shown', () => {
    expect(conclude(step, accepted({ path: './a' }))).toMatchObject({
      kind: 'validated',
      data: {
        tool: 'read_file',
        pool: 'fs',
        toolDigest: digestOf(readFile),
        input: { path: './a' },
        inputSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        sandboxLevel: 'A',
      },
    });
  });

  test('silence is told as such', () => {
    expect(poolUnavailable('fs', 'no responders')).toMatchObject({
      code: 'pool_unavailable',
      message: expect.stringContaining('"fs"'),
    });
  });
});
