/** The sandbox for tests: the one the bootstrap installs. A test without it fails, it is not skipped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, probeSandbox, type SandboxConfig } from '../src/sandbox/probe.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const UNPACKED = join(ROOT, '.tools', 'bubblewrap', 'usr', 'bin', 'bwrap');

/** Path of bubblewrap: `INTERLOCK_BWRAP_BIN`, PATH, `.tools/`. Throws when there is none. */
export function bwrapBin(): string {
  const found = process.env.INTERLOCK_BWRAP_BIN ?? findProgram('bwrap', process.env.PATH ?? '');
  if (found) return found;
  if (existsSync(UNPACKED)) return UNPACKED;
  throw new Error(
    'bubblewrap is not installed: run `npm test`, which fetches it, or set INTERLOCK_BWRAP_BIN',
  );
}

const SANDBOX: SandboxConfig = {
  bwrap: undefined,
  path: process.env.PATH ?? '',
  extraPaths: [],
  plainUid: 61_000,
  limits: { processes: 60, fileBytes: 64 * 1024 * 1024, scratchBytes: 64 * 1024 * 1024 },
};

export function testSandbox(more: Partial<SandboxConfig> = {}): ReturnType<typeof probeSandbox> {
  return probeSandbox({ ...SANDBOX, bwrap: bwrapBin(), ...more });
}
