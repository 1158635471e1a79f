import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NATS_NODES, writeComposeFiles } from '../src/compose-files.ts';
import { findNatsServer } from '../src/index.ts';

test('nats-server takes the configurations that compose mounts', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'interlock-conf-'));
  try {
    await writeComposeFiles({ dir, pools: ['fs', 'shell'], person: 'ada', syncInterval: 'always' });
    for (const node of NATS_NODES) {
      const { status, stderr } = spawnSync(
        findNatsServer(),
        ['-t', '-c', join(dir, 'nats', `${node}.conf`)],
        { encoding: 'utf8' },
      );
      expect(`${status} ${stderr}`).toContain('0 ');
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
