import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnv, createPlace, follow, ROOT } from './command-line.ts';
import { runTests } from './sample.ts';

test('npm start mends a copy of the sample without a key, a terminal or a question', async () => {
  const place = await createPlace();
  try {
    const child = spawn(process.execPath, [join(ROOT, 'deploy', 'bootstrap', 'main.mjs'), 'start'], {
      cwd: ROOT,
      env: { ...cleanEnv(place.dir), INTERLOCK_STATE_DIR: place.stateDir, TMPDIR: place.dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await follow(child).done;
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('A scripted model plays the proposals');
    expect(stderr).toMatch(/interlock: node +\d+\.\d s .+\[skip: /);
    const workspace = /^The tests of (.+) pass now\.$/m.exec(stdout)?.[1];
    expect(await runTests(workspace ?? '')).toContain('fail 0');
    expect(stdout).toContain('npm start -- "<task>" --workspace DIR');
  } finally {
    await place.remove();
  }
});
