// Step 4: bubblewrap, which makes the default sandbox of commands. Without it the house runs, at a lower sandbox level.
import { join } from 'node:path';
import { unpackDebian } from './debian.mjs';
import { isExecutable, mustRun, onPath, run } from './exec.mjs';

const cached = (context) => join(context.tools, 'bubblewrap', 'usr', 'bin', 'bwrap');
const found = (bin, version, where) => ({
  detail: `${version.trim().replace(/^bubblewrap /, '')} ${where}`,
  env: { INTERLOCK_BWRAP_BIN: bin },
});

async function find(context) {
  const chosen = context.env.INTERLOCK_BWRAP_BIN;
  const places = [
    [onPath('bwrap', context.env), 'on PATH'],
    [cached(context), 'from .tools'],
  ];
  for (const [bin, where] of chosen ? [[chosen, 'from INTERLOCK_BWRAP_BIN']] : places) {
    if (!bin || !isExecutable(bin)) continue;
    const { code, stdout } = await run(bin, ['--version'], { timeoutMs: 10_000 });
    if (code === 0) return found(bin, stdout, where);
  }
  if (chosen) throw new Error(`INTERLOCK_BWRAP_BIN=${chosen} does not run`);
  return undefined;
}

async function obtain(context) {
  // The machine's own suite: the newest one's needs a newer C library than an older machine has.
  await unpackDebian(context, { name: 'bubblewrap', into: join(context.tools, 'bubblewrap') });
  const { stdout } = await mustRun(cached(context), ['--version']);
  return found(cached(context), stdout, "from this machine's Debian suite into .tools");
}

export const bubblewrap = {
  name: 'bubblewrap',
  variable: 'INTERLOCK_BWRAP_BIN',
  advice: 'commands run at a lower sandbox level; install bubblewrap or set INTERLOCK_BWRAP_BIN',
  optional: true,
  plan: () => "would unpack bubblewrap of this machine's Debian suite into .tools",
  find,
  obtain,
};
