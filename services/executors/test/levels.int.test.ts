/** Hosts that have less than the full sandbox: what is noticed, said, and done. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createBash } from '../src/tools/bash.ts';
import { bwrapBin, testSandbox } from './bwrap.ts';
import { channel, TestSession, temporaryFolder, testWorkspace } from './workspace.ts';

const bash = createBash();

/** A bubblewrap that does what a host without something does. */
function hostWithout(condition: string, message: string): string {
  const path = `${temporaryFolder('bwrap')}/bwrap`;
  const script = `#!/bin/sh\nfor a in "$@"; do if ${condition}; then echo "${message}" >&2; exit 1; fi; done\nexec ${bwrapBin()} "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

describe('level B: /proc cannot be mounted', () => {
  test('the container’s /proc is bound; the executor’s environment stays its own', async () => {
    process.env.INTERLOCK_TEST_SECRET = 'canary-b';
    const sandbox = await testSandbox({
      bwrap: hostWithout(
        '[ "$a" = --proc ]',
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      ),
    });
    try {
      expect(sandbox).toMatchObject({ level: 'B', shortfall: expect.stringContaining("Can't mount proc") });
      const session = new TestSession(testWorkspace());
      session.sandbox = sandbox;
      const result = await session.call(bash, {
        command:
          'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" | grep canary; kill -9 $PPID; echo x > ../x; echo ok',
      });
      expect(channel(result, 'stdout').trim()).toBe('ok');
      expect(existsSync(`${session.workspace.outside}/x`)).toBe(false);
    } finally {
      delete process.env.INTERLOCK_TEST_SECRET;
      await sandbox.dispose();
    }
  });
});

describe('level D: no namespaces', () => {
  const none = () =>
    testSandbox({ bwrap: hostWithout('true', 'bwrap: No permissions to create new namespace') });

  test('it says why', async () => {
    const sandbox = await none();
    expect(sandbox).toMatchObject({
      level: 'D',
      shortfall: 'bubblewrap does not work here: bwrap: No permissions to create new namespace',
    });
    await sandbox.dispose();
    const missing = await testSandbox({ bwrap: '/no/such/bwrap' });
    expect(missing).toMatchObject({ level: 'D', shortfall: expect.stringContaining('ENOENT') });
    await missing.dispose();
  });

  test('a command has a clean environment, and its processes end with it, those that hide too', async () => {
    const sandbox = await none();
    try {
      process.env.INTERLOCK_TEST_SECRET = 'canary-d';
      const made = testWorkspace();
      const session = new TestSession(made);
      session.sandbox = sandbox;
      const started = performance.now();
      const result = await session.call(bash, {
        command: `env; (setsid sh -c 'while true; do date >> ${made.at('beat')}; sleep 0.05; done' &); sleep 60 & sleep 0.3; echo ok`,
      });
      expect(performance.now() - started).toBeLessThan(10_000);
      expect(channel(result, 'stdout').trim()).toMatch(/\nok$/);
      expect(JSON.stringify(result)).not.toContain('canary-d');
      const { size } = statSync(made.at('beat'));
      await sleep(300);
      expect(statSync(made.at('beat')).size).toBe(size);
    } finally {
      delete process.env.INTERLOCK_TEST_SECRET;
      await sandbox.dispose();
    }
  });
});
