/** What the sandbox keeps in and out, by real commands. The traps are those of the reference measurements. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBash } from '../src/tools/bash.ts';
import type { ExecutionContext, ToolResult } from '../src/tools/tool.ts';
import { bwrapBin, testSandbox } from './bwrap.ts';
import { plainUserProgram } from './plain-user.ts';
import { channel, sha, TestSession, type TestWorkspace, testWorkspace } from './workspace.ts';

type TestSandbox = Awaited<ReturnType<typeof testSandbox>>;
const bash = createBash();
const isRoot = process.getuid?.() === 0;
const CANARY = 'canary-7f3a';
let sandbox: TestSandbox;

beforeAll(async () => {
  process.env.INTERLOCK_TEST_SECRET = CANARY;
  sandbox = await testSandbox();
});
afterAll(async () => {
  delete process.env.INTERLOCK_TEST_SECRET;
  await sandbox.dispose();
});

function sessionOn(workspace: TestWorkspace): TestSession {
  const session = new TestSession(workspace);
  session.sandbox = sandbox;
  return session;
}

const run = (
  workspace: TestWorkspace,
  command: string,
  more: Partial<ExecutionContext> = {},
): Promise<ToolResult> => sessionOn(workspace).call(bash, { command }, more);
const stdout = (result: ToolResult): string => channel(result, 'stdout').trim();
const stderr = (result: ToolResult): string => channel(result, 'stderr').trim();

/** A repository as git makes it. */
function repository(): TestWorkspace {
  const made = testWorkspace({ 'a.txt': 'a\n' });
  execFileSync('git', ['init', '-q', made.root]);
  return made;
}

test('the full level is there', () => {
  expect(sandbox).toMatchObject({ level: 'A', shortfall: null });
});

describe('the four traps', () => {
  test('1: no secret of the executor, neither in the environment nor in that of any process', async () => {
    const result = await run(
      testWorkspace(),
      'env; cat /proc/1/environ /proc/self/environ /proc/*/environ 2>/dev/null | tr "\\0" "\\n"; ls /proc | grep -c "^[0-9]"',
    );
    expect(stdout(result)).toContain('HOME=/home/dev');
    expect(JSON.stringify(result)).not.toContain(CANARY);
  });

  test('2: no start-up file of a shell is read', async () => {
    const made = testWorkspace({
      '.bashrc': 'echo SOURCED\n',
      '.profile': 'echo SOURCED\n',
      '.bash_profile': 'echo SOURCED\n',
    });
    const result = await run(
      made,
      'unset SHLVL; HOME=$PWD bash -c "echo inner" < /dev/null; echo outer; readlink /proc/self/fd/0',
    );
    expect(stdout(result).split('\n')).toEqual(['inner', 'outer', '/dev/null']);
  });

  test('3: .git can be neither written nor moved away, and hooks cannot be planted', async () => {
    const made = repository();
    const result = await run(
      made,
      'echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git .git2; rm -rf .git; mkdir .git/x; echo x > .git/commondir; git status --short',
    );
    for (const refused of ['pre-commit', 'config', 'commondir']) expect(stderr(result)).toContain(refused);
    expect(stderr(result)).toMatch(/mv: .*(busy|Read-only)/);
    expect(existsSync(made.at('.git/hooks/pre-commit'))).toBe(false);
    expect(readdirSync(made.root).sort()).toEqual(['.git', 'a.txt']);
    expect(stdout(result)).toBe('?? a.txt');
  });

  test('3: nor those of a repository further down', async () => {
    const made = testWorkspace();
    mkdirSync(made.at('lib'));
    execFileSync('git', ['init', '-q', made.at('lib/sub')]);
    await run(made, 'echo x > lib/sub/.git/hooks/pre-commit; mv lib/sub/.git lib/sub/old');
    expect(readdirSync(made.at('lib/sub'))).toEqual(['.git']);
    expect(existsSync(made.at('lib/sub/.git/hooks/pre-commit'))).toBe(false);
  });

  test('3: a .git that is a link does not bring in what it leads to', async () => {
    const made = testWorkspace();
    mkdirSync(join(made.outside, 'private'));
    writeFileSync(join(made.outside, 'private', 'id_rsa'), CANARY);
    symlinkSync('../private', made.at('.git'));
    const linked = await run(made, 'ls .git/ 2>&1; cat .git/id_rsa 2>&1');
    expect(JSON.stringify(linked.output)).not.toContain(CANARY);
    const other = testWorkspace();
    mkdirSync(other.at('.git'));
    symlinkSync(join(made.outside, 'private'), other.at('.git/hooks'));
    await run(other, 'git commit -m x');
    const reading = await run(other, 'git add .git/hooks/id_rsa');
    expect(JSON.stringify(reading.output)).not.toContain(CANARY);
    const launch = await sandbox.launch({
      command: 'cat .git/hooks/id_rsa',
      workspace: other,
      writable: true,
      gitWritable: true,
      protectedPaths: [other.at('.git')],
    });
    expect(launch.args).not.toContain(other.at('.git/hooks'));
  });

  test('4: a plain user: no shadow file, no set-id file left behind, no settings of the kernel', async () => {
    const made = testWorkspace({ tool: '#!/bin/sh\n' });
    const result = await run(
      made,
      "id -u; cat /etc/shadow; cp /bin/true mine; chmod u+s mine tool; chmod g+s mine; chmod 4755 mine; python3 -c \"import os; os.open('x', os.O_CREAT|os.O_WRONLY, 0o4755)\"; perl -e \"open(F, '>y'); chmod 06755, 'y'\"; echo x > /proc/sys/kernel/core_pattern; true",
    );
    expect(stdout(result)).toBe('1000');
    expect(stderr(result)).toMatch(/shadow/);
    expect(stderr(result)).toMatch(/core_pattern: (Permission denied|Read-only)/);
    for (const name of readdirSync(made.root))
      expect([name, statSync(made.at(name)).mode & 0o6000]).toEqual([name, 0]);
  });

  test('4: the limit of processes holds', async () => {
    const made = testWorkspace({
      'fork.js': `
        const { spawn } = require('node:child_process');
        let [started, refused] = [0, 0];
        for (let index = 0; index < 200; index += 1) {
          const child = spawn('/bin/sleep', ['20'], { stdio: 'ignore' });
          child.on('error', () => (refused += 1));
          if (child.pid) started += 1;
        }
        setTimeout(() => { console.log(started, refused); process.exit(); }, 100);`,
    });
    const [started = 0, refused = 0] = stdout(await run(made, 'node fork.js'))
      .split(' ')
      .map(Number);
    expect(started + refused).toBe(200);
    expect(started).toBeGreaterThan(10);
    expect(started).toBeLessThan(60);
  });

  test.runIf(isRoot)('4: also where the workspace belongs to a plain user', async () => {
    const made = testWorkspace({ mine: 'x' });
    for (const path of [made.root, made.at('mine')]) chownSync(path, 1234, 1234);
    const result = await run(made, 'id -u; echo new > new; echo more >> mine; mkdir d; echo ok');
    expect(stdout(result)).toBe('1000\nok');
    expect(statSync(made.at('new'))).toMatchObject({ uid: 1234, gid: 1234 });
  });
});

test.runIf(isRoot)('an executor that is a plain user has the same sandbox', () => {
  const made = testWorkspace({ a: 'a' });
  for (const path of [made.outside, made.root, made.at('a')]) chownSync(path, 4321, 4321);
  const command =
    'id -u; echo x > new; unshare -U true; chmod u+s new; echo x > .git/x; cat /proc/1/environ | tr "\\0" "\\n" | grep SECRET; echo x > /etc/passwd';
  const env = {
    PATH: process.env.PATH,
    INTERLOCK_BWRAP_BIN: bwrapBin(),
    INTERLOCK_TEST_SECRET: CANARY,
    TMPDIR: made.outside,
  };
  const user = ['--reuid', '4321', '--regid', '4321', '--clear-groups', '--'];
  const program = [process.execPath, ...plainUserProgram(made.root, command)];
  const said = execFileSync('/usr/bin/env', ['setpriv', ...user, ...program], {
    env,
    encoding: 'utf8',
  });
  const result = JSON.parse(said) as { level: string; output: string };
  expect(result.level).toBe('A');
  expect(result.output.split('\n')[0]).toBe('1000');
  expect(result.output).not.toContain(CANARY);
  expect(result.output).toMatch(/unshare.*(not permitted|No space left)/);
  expect(result.output).toContain('chmod');
  expect(statSync(made.at('new'))).toMatchObject({ uid: 4321, gid: 4321 });
  expect(statSync(made.at('new')).mode & 0o6000).toBe(0);
});

describe('what is outside stays outside', () => {
  test('writes, also through a link', async () => {
    const made = testWorkspace();
    symlinkSync(made.outside, made.at('up'));
    writeFileSync(join(made.outside, 'victim'), 'v');
    const result = await run(
      made,
      'echo x > ../victim; echo x > up/victim; echo x > /etc/passwd; echo x > /usr/x; echo x > /x; echo x > ~/mine && echo home',
    );
    expect(stdout(result)).toBe('home');
    expect(readFileSync(join(made.outside, 'victim'), 'utf8')).toBe('v');
    expect(readdirSync(made.outside).sort()).toEqual(['app', 'victim']);
  });

  test('homes, other projects, other processes', async () => {
    const made = testWorkspace();
    writeFileSync(join(made.outside, 'other-project'), 'secret');
    const child = spawn('sleep', ['30'], { stdio: 'ignore' });
    try {
      const result = await run(
        made,
        `ls -A ~ /root ${made.outside} 2>&1; kill -9 ${child.pid}; ls /proc | grep -E "^[0-9]+$" | wc -l`,
      );
      expect(stdout(result)).not.toContain('other-project');
      expect(Number(stdout(result).split('\n').at(-1))).toBeLessThan(10);
      expect(child.exitCode).toBeNull();
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('the network, this machine included', async () => {
    const server = createServer((socket) => socket.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    try {
      const probe = `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 | head -1; (exec 3<>/dev/tcp/1.1.1.1/80) 2>&1 | head -1; (exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3) 2>&1 | head -1; getent hosts example.com || echo no-name`;
      const result = await run(testWorkspace(), probe);
      expect(stdout(result)).toContain('no-name');
      expect(stdout(result)).toContain('Connection refused');
      expect(stdout(result)).toContain('Network is unreachable');
      expect(stdout(result)).not.toContain('reached');
    } finally {
      server.close();
    }
  });

  test('sockets of agents and of docker are not there', async () => {
    const result = await run(
      testWorkspace(),
      'ls /run /var/run/docker.sock /tmp 2>&1; echo "[$SSH_AUTH_SOCK]"',
    );
    expect(stdout(result)).toContain('[]');
    expect(stdout(result)).toContain("cannot access '/var/run/docker.sock'");
  });

  test('further namespaces, mounts, devices', async () => {
    const result = await run(
      testWorkspace(),
      'unshare -U true; unshare -r true; mount -t tmpfs x /tmp; mknod d b 8 0; ls /dev/vda /dev/sda; true',
    );
    expect(stderr(result)).toContain('unshare');
    expect(stderr(result).match(/not permitted|denied|permission/gi)?.length).toBeGreaterThanOrEqual(3);
  });

  test('keys of the house that lie in the workspace', async () => {
    const made = testWorkspace({ 'state/policy-engine.key': CANARY });
    const session = new TestSession({ ...made, hidden: [made.at('state')] });
    session.sandbox = sandbox;
    const result = await session.call(bash, { command: 'ls -A state; cat state/*; echo done' });
    expect(stdout(result)).toBe('done');
    expect(JSON.stringify(result)).not.toContain(CANARY);
  });

  test('a workspace that the permit does not let it write', async () => {
    const made = testWorkspace({ a: 'a' });
    const result = await run(made, 'cat a; echo x > a; echo x > b', { mayWrite: false });
    expect(stdout(result)).toBe('a');
    expect(stderr(result)).toContain('Read-only file system');
    expect(made.text('a')).toBe('a');
  });
});

describe('what a project needs works', () => {
  test('node, its tests, npm, scratch space', async () => {
    const made = testWorkspace({
      'package.json': '{"name":"x","type":"module","scripts":{"test":"node --test"}}',
      'x.test.js': "import { test } from 'node:test';\ntest('works', () => {});\n",
    });
    const result = await run(
      made,
      'node -e "console.log(process.versions.node)"; npm test 2>&1 | grep "^. pass"; echo x > /tmp/x && echo x > ~/x && echo x > /dev/shm/x && echo scratch',
      { budgets: { timeoutMs: 60_000, outputBytes: 30_000 } },
    );
    expect(stdout(result).split('\n')).toEqual([
      process.versions.node,
      expect.stringContaining('pass 1'),
      'scratch',
    ]);
  });

  test('git reads, and an approved git write; hooks and config stay as they are', async () => {
    const made = repository();
    const ask = (command: string): Promise<ToolResult> => run(made, command);
    expect(await ask('git add a.txt')).toMatchObject({ outcome: 'success' });
    expect(await ask('git -C . add a.txt')).toMatchObject({ outcome: 'failed' });
    const commit = await run(made, "git commit -q -m 'first commit'");
    expect(stderr(commit)).toContain('tell me who you are');
    execFileSync('git', ['-C', made.root, 'config', 'user.email', 'a@example.com']);
    execFileSync('git', ['-C', made.root, 'config', 'user.name', 'A']);
    expect(await ask("git commit -q -m 'first commit'")).toMatchObject({ outcome: 'success' });
    expect(stdout(await ask('git log --oneline'))).toContain('first commit');
    expect(await ask('git branch -m main trunk')).toMatchObject({ outcome: 'failed' });
    expect(stdout(await ask('git diff HEAD'))).toBe('');
  });

  test('/dev/stdout and /dev/stderr can be opened', async () => {
    const result = await run(
      testWorkspace(),
      'echo out > /dev/stdout; echo err > /dev/stderr; echo tee | tee /dev/stderr',
    );
    expect(stdout(result)).toBe('out\ntee');
    expect(stderr(result)).toBe('err\ntee');
  });
});

describe('how a command ends', () => {
  test('exit code, death by a signal', async () => {
    expect(await run(testWorkspace(), 'echo x; exit 3')).toMatchObject({
      outcome: 'failed',
      code: 'exit_code',
      exitCode: 3,
    });
    const killed = await run(testWorkspace(), 'echo before; kill -9 $$');
    expect(killed).toMatchObject({
      outcome: 'failed',
      exitCode: 137,
      message: 'exit code 137 (128 + SIGKILL)',
    });
    expect(stdout(killed)).toBe('before');
    expect(await run(testWorkspace(), 'sh -c "kill -SEGV \\$\\$"')).toMatchObject({
      outcome: 'failed',
      exitCode: 139,
    });
  });

  test('a pipeline says that its code is that of the last stage', async () => {
    const result = await run(testWorkspace(), 'sh -c "exit 3" | cat');
    expect(result).toMatchObject({ outcome: 'success', exitCode: 0 });
    expect(channel(result, 'note')).toContain('an earlier one may have failed');
    for (const command of ["echo 'a|b'", 'false || true', 'set -o pipefail; true | true'])
      expect(channel(await run(testWorkspace(), command), 'note')).toBe('');
    expect(stdout(await run(testWorkspace(), 'yes | head -1; seq 100000 | head -1'))).toBe('y\n1');
  });

  test('standard input is at its end', async () => {
    const result = await run(testWorkspace(), 'read -r line; echo "got=$line after"; cat');
    expect(stdout(result)).toBe('got= after');
  });

  test('at its time limit, with everything it had started', async () => {
    const made = testWorkspace();
    const started = performance.now();
    const controller = new AbortController();
    setTimeout(() => controller.abort('timeout'), 300);
    const result = await run(
      made,
      '(while true; do date +%s%N >> beat; sleep 0.05; done) & setsid sh -c "while true; do date >> beat2; sleep 0.05; done" & wait',
      { signal: controller.signal },
    );
    expect(result).toMatchObject({ outcome: 'failed', code: 'timeout' });
    expect(performance.now() - started).toBeLessThan(4000);
    const size = statSync(made.at('beat')).size;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(statSync(made.at('beat')).size).toBe(size);
  });

  test('though its processes ignore the request to end', async () => {
    const made = testWorkspace();
    const started = performance.now();
    const controller = new AbortController();
    setTimeout(() => controller.abort('cancelled'), 300);
    const command =
      "trap '' TERM; bash -c \"trap '' TERM; while true; do date >> beat; sleep 0.05; done\" & while true; do sleep 1; done";
    const result = await run(made, command, { signal: controller.signal });
    expect(result).toMatchObject({ outcome: 'failed', code: 'aborted' });
    expect(performance.now() - started).toBeGreaterThan(2000);
    expect(performance.now() - started).toBeLessThan(6000);
    const size = statSync(made.at('beat')).size;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(statSync(made.at('beat')).size).toBe(size);
  });

  test('a request to end can be answered', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort('cancelled'), 500);
    const result = await run(
      testWorkspace(),
      "trap 'echo cleaned; exit 1' TERM; while true; do sleep 0.05; done",
      { signal: controller.signal },
    );
    expect(stdout(result)).toBe('cleaned');
  });

  test('a child that stays behind with the pipe holds up nothing', async () => {
    const made = testWorkspace();
    const started = performance.now();
    const result = await run(made, 'sleep 60 & (setsid sh -c "sleep 1; echo alive > late" &) ; echo done');
    expect(result).toMatchObject({ outcome: 'success' });
    expect(stdout(result)).toBe('done');
    expect(performance.now() - started).toBeLessThan(5000);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(existsSync(made.at('late'))).toBe(false);
  });
});

describe('output', () => {
  test('split in the middle of a character it decodes right', async () => {
    const chunks: string[] = [];
    const command =
      "printf 'a\\xe2'; sleep 0.1; printf '\\x89\\xa4b\\xf0\\x9f'; sleep 0.1; printf '\\x98\\x80'";
    const result = await run(testWorkspace(), command, {
      live: (_channel, bytes) => chunks.push(Buffer.from(bytes).toString('hex')),
    });
    expect(channel(result, 'stdout')).toBe('a≤b😀');
    expect(chunks.join('')).toBe(Buffer.from('a≤b😀').toString('hex'));
  });

  test('control characters are harmless in what is shown; the artifact has the raw bytes', async () => {
    const session = sessionOn(testWorkspace());
    const command =
      "printf 'ok \\x00 \\033[31mred\\033[0m \\033]0;t\\007 end\\n'; head -c 50000 /dev/zero | tr '\\0' x; printf '\\033[2Jlast'";
    const result = await session.call(
      bash,
      { command },
      { budgets: { timeoutMs: 10_000, outputBytes: 2000 } },
    );
    const [part] = result.output;
    expect(part?.text).toMatch(/^ok ␀ red {2}end\n/);
    expect(part?.text).toMatch(/last$/);
    expect(part?.text).not.toContain('\u001b');
    expect(session.artifacts.get(part?.artifact ?? '')?.length).toBe((part?.omittedBytes ?? 0) + 2000);
    expect(Buffer.from(session.artifacts.get(part?.artifact ?? '') ?? []).toString('latin1')).toContain(
      '\u001b[2Jlast',
    );
  });

  test('far more than fits: exact count, bounded memory', async () => {
    const session = sessionOn(testWorkspace());
    session.limits = { ...session.limits, maxArtifactBytes: 1024 * 1024 };
    const before = process.memoryUsage().rss;
    const command = 'echo first; head -c 300000000 /dev/zero; echo last';
    const result = await session.call(
      bash,
      { command },
      { budgets: { timeoutMs: 30_000, outputBytes: 1000 } },
    );
    const [part] = result.output;
    expect(part?.omittedBytes).toBe(300_000_000 + 'first\nlast\n'.length - 1000);
    expect(part?.text).toMatch(/^first\n/);
    expect(part?.text).toMatch(/last\n$/);
    expect(session.artifacts.get(part?.artifact ?? '')?.length).toBe(1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });

  test('a file that grows without end is stopped by its limit', async () => {
    const made = testWorkspace();
    const result = await run(made, 'head -c 200000000 /dev/zero > big; echo $?');
    expect(statSync(made.at('big')).size).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(stdout(result)).not.toBe('0');
  });
});

describe('effects', () => {
  test('of the whole process tree, a lockfile of a grandchild too', async () => {
    const made = testWorkspace({ keep: 'k', change: 'old', gone: 'g' });
    const result = await run(
      made,
      'bash -c \'node -e "require(\\"fs\\").writeFileSync(\\"package-lock.json\\", \\"{}\\")"\'; echo new > change; rm gone; mkdir -p node_modules/x; echo 1 > node_modules/x/y',
    );
    expect(result.effects).toEqual({
      scope: 'complete',
      excluded: ['node_modules (installed packages)'],
      files: [
        { path: 'change', change: 'changed', before: sha('old'), after: sha('new\n') },
        { path: 'gone', change: 'deleted', before: sha('g'), after: null },
        { path: 'package-lock.json', change: 'added', before: null, after: sha('{}') },
      ],
    });
  });

  test('what a failed or stopped command had done is told too', async () => {
    const made = testWorkspace();
    expect((await run(made, 'echo x > made; exit 1')).effects.files).toMatchObject([
      { path: 'made', change: 'added' },
    ]);
  });
});

describe('commands that cannot be run', () => {
  test('are refused before', async () => {
    const session = sessionOn(testWorkspace());
    const codes = (command: string): Promise<string> => session.codes(bash, { command });
    expect(await codes('')).toBe('schema_mismatch');
    expect(await codes('   ')).toBe('command_invalid');
    expect(await codes('echo a\0b')).toBe('command_invalid');
    expect(await codes(`echo ${'x'.repeat(140_000)}`)).toBe('command_invalid');
    expect(await codes(`echo ${'x'.repeat(120_000)} | wc -c`)).toBe('ok');
    expect(await session.codes(bash, { command: 'ls', background: true })).toBe('schema_mismatch');
    expect(await session.codes(bash, { command: 'ls', timeoutMs: 0 })).toBe('schema_mismatch');
  });

  test('the longest that is let through runs', async () => {
    const command = `echo ${'x'.repeat(131_000 - 20)} | wc -c`;
    expect(stdout(await run(testWorkspace(), command))).toBe(String(131_000 - 19));
  });

  test('a time limit beyond the house’s is cut, and it says so', async () => {
    const judged = await sessionOn(testWorkspace()).preflight(bash, { command: 'ls', timeoutMs: 2 ** 31 });
    expect(judged).toMatchObject({
      ok: true,
      input: { timeoutMs: 60_000 },
      changes: [{ path: '/timeoutMs' }],
    });
  });
});
