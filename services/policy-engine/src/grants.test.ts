import type { GrantGivenV1, ToolValidatedV1 } from '@interlock/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { command, edit, WORKSPACE } from '../test/samples.ts';
import { findGrant, grantOf, patternOf } from './grants.ts';

const NOW = new Date('2026-11-30T12:00:00.000Z');
const place = { session: 's1', opened: { workspace: WORKSPACE, person: 'ada' }, now: NOW };
const mcp = (input: unknown): ToolValidatedV1 => ({
  ...command('x', ['network']),
  tool: 'mcp__db__query',
  input,
});

function given(call: ToolValidatedV1, more: Partial<GrantGivenV1> = {}): GrantGivenV1 {
  const grant = grantOf(call, {
    answerId: '01J00000000000000000000001',
    answer: { scope: 'session', person: 'ada' },
    offered: ['once', 'session', 'project'],
    session: 's1',
    workspace: WORKSPACE,
  });
  if (!grant) throw new Error('no grant');
  return { ...grant, ...more };
}

const covers = (grant: GrantGivenV1, call: ToolValidatedV1, more: Partial<typeof place> = {}): boolean =>
  findGrant({ g: grant }, call, { ...place, ...more }) !== null;

describe('what a grant does not cover', () => {
  const npm = command('cd src && npm test', ['runs-project-code']);

  test.each([
    ['another line', command('cd src && rm -rf .', ['runs-project-code'])],
    ['a longer line', command('cd src && npm test --x', ['runs-project-code'])],
    ['the same line with more effects', command('cd src && npm test', ['runs-project-code', 'network'])],
    ['the same line of another tool', { ...npm, tool: 'mcp__shell' }],
    [
      'the same line in the background',
      { ...npm, input: { command: 'cd src && npm test', background: true } },
    ],
  ])('%s', (_name, call) => {
    expect(covers(given(npm), call)).toBe(false);
  });

  test('another file', () => {
    expect(covers(given(edit('a.ts')), edit('b.ts'))).toBe(false);
  });

  test('other arguments of the same tool', () => {
    expect(covers(given(mcp({ sql: 'select 1' })), mcp({ sql: 'drop table t' }))).toBe(false);
  });

  test('another session, when it is for one session', () => {
    expect(covers(given(npm), npm, { session: 's2' })).toBe(false);
  });

  test('another person or workspace, when it is for the project', () => {
    const grant = given(npm, { scope: 'project' });
    expect(covers(grant, npm, { opened: { workspace: WORKSPACE, person: 'bob' } })).toBe(false);
    expect(covers(grant, npm, { opened: { workspace: '/other', person: 'ada' } })).toBe(false);
  });

  test('anything once it has expired', () => {
    expect(covers(given(npm, { expiresAt: NOW.toISOString() }), npm)).toBe(false);
  });
});

describe('what a grant covers', () => {
  test('the exact line, whatever its description and time limit', () => {
    const npm = command('npm test', ['runs-project-code']);
    expect(
      covers(given(npm), { ...npm, input: { command: 'npm test', description: 'again', timeoutMs: 5 } }),
    ).toBe(true);
  });
  test('every edit of the one file', () => {
    const other = { ...edit('a.ts'), input: { path: 'a.ts', oldText: 'x', newText: 'y' } };
    expect(covers(given(edit('a.ts')), other)).toBe(true);
  });
  test('the same arguments in another order', () => {
    expect(covers(given(mcp({ sql: 'select 1', limit: 5 })), mcp({ limit: 5, sql: 'select 1' }))).toBe(true);
  });
  test('fewer effects', () => {
    expect(covers(given(command('x', ['network', 'deletes'])), command('x', ['deletes']))).toBe(true);
  });
  test('other sessions of the person on that workspace, when it is for the project', () => {
    const npm = command('npm test', ['runs-project-code']);
    expect(covers(given(npm, { scope: 'project' }), npm, { session: 's2' })).toBe(true);
  });
});

describe('whether an approval gives one', () => {
  const npm = command('npm test', ['runs-project-code']);
  const request = { answerId: 'a', offered: ['once', 'session'], session: 's1', workspace: WORKSPACE };

  test('not for once', () => {
    expect(grantOf(npm, { ...request, answer: { scope: 'once', person: 'ada' } })).toBeNull();
  });
  test('not wider than was offered', () => {
    expect(grantOf(npm, { ...request, answer: { scope: 'project', person: 'ada' } })).toBeNull();
  });
  test('not for what cannot be said narrowly', () => {
    const call = { ...npm, input: { command: 'npm test', background: true } };
    expect(patternOf(call)).toBeNull();
    expect(grantOf(call, { ...request, answer: { scope: 'session', person: 'ada' } })).toBeNull();
  });
  test('once a session, always the same one', () => {
    const give = () => grantOf(npm, { ...request, answer: { scope: 'session', person: 'ada' } });
    expect(give()).toEqual(give());
    expect(give()).toMatchObject({ scope: 'session', session: 's1', pattern: { command: 'npm test' } });
  });
});

test('a grant for one line covers no other', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
      fc.pre(one !== other);
      expect(covers(given(command(one, ['unknown'])), command(other, ['unknown']))).toBe(false);
    }),
  );
});
