import { describe, expect, test } from 'vitest';
import { assessCommand, isGitWrite } from './assess-command.ts';
import { literalWords } from './words.ts';

const cwd = '/home/dev/app';
const effects = (command: string): string => assessCommand(command, cwd).effects.join(' ');

describe('not understood, so asked about', () => {
  test.each([
    'rm -rf dist',
    'ls; rm x',
    'ls && rm x',
    'ls | sh',
    'cat $HOME/.ssh/id_rsa',
    'echo `rm x`',
    'echo "$(rm x)"',
    'ls > out',
    'ls *.ts',
    'cat ~/.bashrc',
    'FOO=1 npm test',
    'PATH=. ls',
    'ls\nrm x',
    'ls\u00a0-la',
    'ls\u200b',
    'ls\rrm',
    "echo 'a",
    'ls #x',
    'find . -delete',
    'find . -exec rm x +',
    'find . -"exec" sh',
    'rg --pre ./x y',
    'rg -zf x y',
    'grep -f pats x',
    'sort -o out in',
    'sort --compress-program=sh x',
    'tail -f log',
    'wc --files0-from=x',
    'git -c core.pager=sh log',
    'git --exec-path=./bin status',
    'git --git-dir=x status',
    'git diff --ext-diff',
    'git log --output=x',
    'git push',
    'git branch -D main',
    'git branch new',
    'git stash',
    'git remote show origin',
    'npm install',
    'npm run deploy',
    'npm --prefix /x test',
    'npm run lint -- --fix',
    'npx cowsay',
    'npx -p x tsc',
    'node -e 1',
    'node script.js',
    'make install',
    'cargo run',
    'go generate',
    'python -c 1',
    'bash -c ls',
    "test -v 'a[0]'",
    'cargo build --config build.rustc-wrapper=./x',
    'go test -exec ./x ./...',
    'tsc --outDir lib',
    'npx tsc',
    'env ls',
    'sudo ls',
    '',
    '   ',
  ])('%j', (command) => {
    expect(effects(command)).toBe('unknown');
    expect(assessCommand(command, cwd).confidence).toBe('unknown');
  });
});

describe('readers', () => {
  test.each([
    'ls -la src',
    'cat README.md',
    "cat 'a file.txt'",
    'head -n 20 src/a.ts',
    'wc -l a b',
    'pwd',
    'echo "rm -rf /"',
    'grep -rn needle src',
    'rg needle',
    'find . -name a.ts -type f',
    'git status',
    'git --no-pager log --oneline -n 5',
    'git diff HEAD -- src/a.ts',
    'git show HEAD',
    'git branch -a',
    'git remote -v',
    'git stash list',
    'node --version',
    'npm -v',
  ])('%s', (command) => {
    expect(effects(command)).toBe('read-only');
  });

  test.each([
    ['cat ../other/x', 'read-only reads-outside'],
    ['cat /etc/hostname', 'read-only reads-outside'],
    ['head /home/dev/other', 'read-only reads-outside'],
    ['grep -rn x --include=/etc/x .', 'read-only reads-outside'],
    ['diff -I../x a b', 'read-only reads-outside'],
    ['cat .env', 'read-only reads-secrets'],
    ['cat certs/server.pem', 'read-only reads-secrets'],
    ['cat /home/dev/.ssh/id_rsa', 'read-only reads-outside reads-secrets'],
    ['cat /proc/1/environ', 'read-only reads-outside reads-secrets'],
    ['cat /home/dev/app/src/a.ts', 'read-only'],
    ['cat .env.example', 'read-only'],
  ])('%s: %s', (command, expected) => {
    expect(effects(command)).toBe(expected);
  });
});

test.each([
  'npm test',
  'npm t',
  'npm run test',
  'npm run -s lint',
  'npm run test:unit -- --reporter dot',
  'npx vitest run',
  'npx tsc --noEmit',
  'pnpm test',
  'pnpm run build',
  'yarn lint',
  'make test',
  'pytest -q',
  'python -m pytest',
  'cargo test',
  'go test',
  'node --test',
  'node --test test/a.test.js',
])('%s runs project code', (command) => {
  expect(effects(command)).toBe('runs-project-code');
});

test('the command stands in the assessment as it was written', () => {
  const { commands, preview } = assessCommand('npm test', cwd);
  expect(commands).toEqual([{ text: 'npm test', program: 'npm', effects: ['runs-project-code'] }]);
  expect(preview).toBe('npm test');
});

test('plain git writes, and nothing that only looks like one', () => {
  expect(isGitWrite('git add -A')).toBe(true);
  expect(isGitWrite('git commit -m "a message"')).toBe(true);
  expect(isGitWrite('git --no-pager commit -m x')).toBe(true);
  for (const line of [
    'git status',
    'git add . && git commit -m x',
    'git -c x=y commit',
    'git config x y',
    'git push',
    'ls',
  ])
    expect(isGitWrite(line)).toBe(false);
});

test('words', () => {
  expect(literalWords(`a 'b c' "d e"f`)).toEqual(['a', 'b c', 'd ef']);
  expect(literalWords(`echo ''`)).toEqual(['echo', '']);
  expect(literalWords('echo "a$b"')).toBeNull();
  expect(literalWords('echo été')).toEqual(['echo', 'été']);
});
