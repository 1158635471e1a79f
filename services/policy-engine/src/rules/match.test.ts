import type { Effect, EvaluateRequestV1, ToolValidatedV1 } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { command, edit, facts, WORKSPACE } from '../../test/samples.ts';
import { describeProblems, loadBundle } from './load.ts';

/** Whether a rule of this decision and these conditions matches. */
function matches(
  decision: string,
  when: unknown,
  call: ToolValidatedV1,
  more: Partial<EvaluateRequestV1> = {},
): boolean {
  const loaded = loadBundle(
    JSON.stringify({ version: 1, rules: [{ id: 'r', decision, reason: 'r', when }] }),
  );
  if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
  return loaded.bundle.rules[0]?.matches(facts(call, more)) ?? false;
}

const reads: Effect[] = ['read-only'];

describe('commands that a rule lets pass', () => {
  const allows = (prefix: string | string[], line: string, effects: Effect[] = reads): boolean =>
    matches('allow', { tool: 'bash', command: { prefix } }, command(line, effects));

  test.each([
    ['git log $(touch pwned)'],
    ['git log `touch pwned`'],
    ['git log; rm -rf .'],
    ['git log && rm x'],
    ['git log | sh'],
    ['git log > file'],
    ['git log\nrm x'],
    ['git() { touch pwned; }; git log'],
    ['GIT_EXTERNAL_DIFF=x git log'],
    ['PATH=.:$PATH git log'],
    ['git logout-all'],
    ['git  -c x log'],
    ['gitlog'],
    ['git log "$(touch x)"'],
    ['git log\u00a0-1'],
    ['git log {a,b}'],
    ['git log *'],
    ["git log 'unclosed"],
    [''],
  ])('a prefix does not cover %j', (line) => {
    expect(allows('git log', line)).toBe(false);
  });

  test.each([['git log'], ['git  log\t-1 --oneline'], ['git log "a file"'], ["git log --format='%h'"]])(
    'a prefix covers %j',
    (line) => {
      expect(allows('git log', line)).toBe(true);
    },
  );

  test.each<[string, Effect[]]>([
    ['find . -delete', ['deletes']],
    ['find . -fprint x', ['writes-workspace']],
    ['find . -exec x', ['unknown']],
  ])('a prefix covers no effect that it does not name: %s', (line, effects) => {
    expect(allows('find', line, effects)).toBe(false);
  });

  test('unless the rule names it', () => {
    const when = { command: { prefix: 'git push' }, effects: { onlyOf: ['read-only', 'network'] } };
    expect(matches('allow', when, command('git push', ['network']))).toBe(true);
    expect(matches('allow', when, command('git push --force', ['network', 'discards-vcs']))).toBe(false);
  });

  test('an exact line is covered with all it does, and nothing else is', () => {
    const when = { command: { exact: 'make all && make install' } };
    expect(matches('allow', when, command(' make all && make install ', ['unknown']))).toBe(true);
    expect(matches('allow', when, command('make all && make install; id', ['unknown']))).toBe(false);
  });

  test('a program is covered plain and by its own name only', () => {
    const when = { command: { program: ['ls', 'cat'] } };
    expect(matches('allow', when, command('ls -la', reads))).toBe(true);
    expect(matches('allow', when, command('/tmp/ls -la', reads))).toBe(false);
    expect(matches('allow', when, command('ls; id', reads))).toBe(false);
  });
});

describe('commands that a rule stops', () => {
  const denies = (
    prefix: string,
    line: string,
    parts?: ToolValidatedV1['assessment']['commands'],
  ): boolean => {
    const call = command(line, ['unknown']);
    const assessment = parts ? { ...call.assessment, commands: parts } : call.assessment;
    return matches('deny', { command: { prefix } }, { ...call, assessment });
  };

  test.each([
    ['/bin/rm -rf build'],
    ['\\rm -rf build'],
    ["r''m -rf build"],
    ['A=1 rm -rf build'],
    ['ls && rm -rf build'],
    ['rm'],
    ["$'\\x72m' -rf build"],
    ['command rm -rf build'],
    ['env rm -rf build'],
    ['env -u A B=1 rm -rf build'],
    ['timeout 5 rm -rf build'],
    ['timeout -k 1s 5s nice -n 5 rm x'],
    ['{rm,-rf,build}'],
    ["bash -c 'rm -rf build'"],
    ['sh -lc "cd x; rm y"'],
    ['eval "rm x"'],
    ['find . -name x -exec rm {} +'],
    ['ls | xargs -n 1 rm'],
    ['echo "$(rm x)"'],
    ['echo `rm x`'],
    ['diff <(rm x) y'],
    ['if true; then rm x; fi'],
    ['( cd x && rm y )'],
    ['{ rm x; }'],
    ['> out rm x'],
    ['ls 2>&1 | rm x'],
    ['sudo -u root rm x'],
    ['ls\nrm x'],
    ["xargs sh -c 'rm {}'"],
  ])('%s', (line) => {
    expect(denies('rm', line)).toBe(true);
  });

  test('a part that only the assessment sees', () => {
    const parts = [{ text: 'rm -rf build', program: 'rm', effects: ['deletes' as const] }];
    expect(denies('rm', "bash -c 'rm -rf build'", parts)).toBe(true);
    expect(denies('rm -rf', "$'\\x72m' -rf build", parts)).toBe(true);
  });

  test.each([['A=1 git push'], ["A=1 B='two words' git push"], ['git push origin']])(
    '%s, assignments or not',
    (line) => {
      expect(denies('git push', line)).toBe(true);
    },
  );

  test.each([
    ['echo rm'],
    ["echo '; rm x'"],
    ['grep "; rm" file'],
    ['echo rm > rm'],
    ['ls # rm x'],
    ['git rm x'],
    ['echo \\; rm'],
    ["awk '{rm}' x"],
    ['env grep rm x'],
    ['timeout 5 grep rm x'],
    ['cat <<< rm'],
  ])('%s names it and does not call it', (line) => {
    expect(denies('rm', line, [])).toBe(false);
  });

  test('text without end is looked at in bounded time', () => {
    const started = performance.now();
    expect(denies('rm', `${'echo $('.repeat(5000)}rm x`, [])).toBe(false);
    expect(denies('rm', `${'echo a; '.repeat(3000)}rm x`, [])).toBe(true);
    expect(denies('rm', `"${'`'.repeat(20_000)}`, [])).toBe(false);
    expect(denies('rm', `${'('.repeat(30_000)}`, [])).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test('a longer name is another program', () => {
    expect(denies('rm', 'rmdir x')).toBe(false);
    expect(denies('git push', 'git pushx')).toBe(false);
  });
});

describe('effects', () => {
  test('onlyOf, anyOf, allOf and noneOf', () => {
    const call = command('x', ['network', 'reads-secrets']);
    expect(matches('ask', { effects: { onlyOf: 'network' } }, call)).toBe(false);
    expect(matches('ask', { effects: { anyOf: ['network', 'deletes'] } }, call)).toBe(true);
    expect(matches('ask', { effects: { allOf: ['network', 'deletes'] } }, call)).toBe(false);
    expect(matches('ask', { effects: { allOf: ['network', 'reads-secrets'] } }, call)).toBe(true);
    expect(matches('ask', { effects: { noneOf: ['network'] } }, call)).toBe(false);
  });

  test('what nobody understood is let pass only where the rule says so', () => {
    const call = command('x', ['unknown']);
    expect(matches('allow', { tool: 'bash' }, call)).toBe(false);
    expect(matches('allow', { tool: 'bash', effects: { onlyOf: ['unknown'] } }, call)).toBe(true);
    expect(matches('ask', { tool: 'bash' }, call)).toBe(true);
  });
});

describe('paths', () => {
  const path = (real: string, access: 'read' | 'write' | 'delete' = 'write', inside = true) => ({
    path: real,
    real,
    access,
    inside,
  });
  const at = (...paths: ReturnType<typeof path>[]): ToolValidatedV1 => {
    const call = edit('a.ts');
    return { ...call, assessment: { ...call.assessment, paths } };
  };
  const inside = `${WORKSPACE}/src/a.ts`;

  test('a rule that allows needs every path', () => {
    const when = { paths: { globs: 'src/**' } };
    expect(matches('allow', when, at(path(inside), path(`${WORKSPACE}/.env`)))).toBe(false);
    expect(matches('allow', when, at(path(inside)))).toBe(true);
    expect(matches('allow', when, at())).toBe(false);
  });

  test('a rule that stops needs one', () => {
    const when = { paths: { globs: '**/.env', access: 'write' } };
    expect(matches('deny', when, at(path(inside), path(`${WORKSPACE}/.env`)))).toBe(true);
    expect(matches('deny', when, at(path(`${WORKSPACE}/.env`, 'read')))).toBe(false);
    expect(matches('deny', when, at(path('/etc/.env')))).toBe(true);
  });

  test('links are followed before: the real path counts', () => {
    const outside = { path: 'outbox/x', real: '/home/dev/OUT/x', access: 'write' as const, inside: false };
    expect(matches('allow', { paths: { globs: `${WORKSPACE}/**` } }, at(outside))).toBe(false);
    expect(matches('allow', { paths: { inside: true } }, at(outside))).toBe(false);
  });

  test('a folder of a similar name is another folder', () => {
    expect(matches('allow', { paths: { globs: '**' } }, at(path(`${WORKSPACE}-evil/x`)))).toBe(false);
  });

  test.each([['/'], [WORKSPACE], ['/home/dev'], [`${WORKSPACE}/.git`], [`${WORKSPACE}/`]])(
    '%s holds the workspace',
    (real) => {
      expect(matches('deny', { paths: { holdsWorkspace: true } }, at(path(real, 'delete')))).toBe(true);
    },
  );
  test.each([['/home/de'], [`${WORKSPACE}/src`], ['/home/other']])('%s does not', (real) => {
    expect(matches('deny', { paths: { holdsWorkspace: true } }, at(path(real, 'delete')))).toBe(false);
  });
});

describe('hosts', () => {
  const to = (...hosts: string[]): ToolValidatedV1 => {
    const call = command('curl', ['network']);
    return { ...call, assessment: { ...call.assessment, hosts } };
  };
  const when = { hosts: ['*.example.com', 'example.org'], effects: { onlyOf: 'network' } };

  test('a rule that allows needs all of them', () => {
    expect(matches('allow', when, to('api.example.com', 'evil.example'))).toBe(false);
    expect(matches('allow', when, to('API.example.com:443', 'example.org.'))).toBe(true);
    expect(matches('allow', when, to())).toBe(false);
  });
  test('only hosts below it', () => {
    expect(matches('allow', when, to('example.com'))).toBe(false);
    expect(matches('allow', when, to('evilexample.com'))).toBe(false);
  });
});

describe('input', () => {
  const query = (input: unknown): ToolValidatedV1 => ({
    ...command('x', ['network']),
    tool: 'mcp__db__query',
    input,
  });
  const when = (condition: unknown) => ({ tool: 'mcp__db__*', input: condition });

  test('equals, inward fields, globs and patterns', () => {
    expect(matches('ask', when({ field: 'limit', equals: 5 }), query({ limit: 5 }))).toBe(true);
    expect(matches('ask', when({ field: 'limit', equals: 5 }), query({ limit: '5' }))).toBe(false);
    expect(matches('ask', when({ field: 'a.b', equals: null }), query({ a: { b: null } }))).toBe(true);
    expect(matches('ask', when({ field: 'sql', glob: 'drop *' }), query({ sql: 'drop table t' }))).toBe(true);
    expect(matches('ask', when({ field: 'sql', regex: '^drop\\b' }), query({ sql: 'select 1' }))).toBe(false);
    expect(matches('ask', when({ field: 'toString', glob: '*' }), query({}))).toBe(false);
  });

  test('a pattern finds its case in a long text, and vouches for none', () => {
    const long = `${' '.repeat(5000)}drop table t`;
    expect(matches('deny', when({ field: 'sql', regex: 'drop table' }), query({ sql: long }))).toBe(true);
    expect(matches('allow', when({ field: 'sql', regex: 'drop table' }), query({ sql: long }))).toBe(false);
  });
});

test('mode, tenant, model, person and sandbox', () => {
  const call = command('x', reads);
  expect(matches('allow', { mode: ['read-only', 'normal'] }, call)).toBe(true);
  expect(matches('allow', { tenant: 'acme' }, call)).toBe(false);
  expect(matches('allow', { model: 'scr*' }, call)).toBe(true);
  expect(matches('allow', { person: 'bob' }, call)).toBe(false);
  expect(matches('allow', { sandbox: ['A', 'B'] }, call, { sandboxLevel: 'D' })).toBe(false);
});
