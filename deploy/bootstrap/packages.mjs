// Step 2: the project's packages, exactly as pnpm-lock.yaml says.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './exec.mjs';

const PNPM = 'pnpm@12.21.0';
const SKIPPED_FOLDERS = new Set(['node_modules', 'dist']);

/** Every package.json down to the second folder level: no workspace package lies deeper. */
function manifests(folder, depth = 0) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'package.json') return [join(folder, entry.name)];
    const enter =
      entry.isDirectory() && depth < 2 && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.has(entry.name);
    return enter ? manifests(join(folder, entry.name), depth + 1) : [];
  });
}

function digest(root) {
  const hash = createHash('sha256').update(PNPM);
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((name) => join(root, name));
  for (const file of [...files, ...manifests(root).sort()])
    hash.update(`\0${file.slice(root.length)}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

const stampFile = (context) => join(context.root, 'node_modules', '.interlock-stamp');
const bin = (context) => [join(context.root, 'node_modules', '.bin')];

async function find(context) {
  if (context.env.INTERLOCK_SKIP_INSTALL === '1') return { detail: 'left as they are', path: bin(context) };
  const stamp = stampFile(context);
  const current = existsSync(stamp) && readFileSync(stamp, 'utf8') === digest(context.root);
  return current ? { detail: 'as in pnpm-lock.yaml', path: bin(context) } : undefined;
}

async function obtain(context) {
  // CI=true: without it pnpm stops to ask when it has to remove an older node_modules.
  // The log level: `npm run --silent` hands its own on, and a failure would say nothing.
  const env = { ...context.env, CI: 'true', npm_config_loglevel: 'warn' };
  // `npx` stands beside the node that came with it, which need not be the one that runs it here.
  await mustRun('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: context.root,
    env,
    timeoutMs: 900_000,
  });
  writeFileSync(stampFile(context), digest(context.root));
  return { detail: `installed with ${PNPM}`, path: bin(context) };
}

export const packages = {
  name: 'packages',
  variable: 'INTERLOCK_SKIP_INSTALL',
  advice: 'install them yourself and set INTERLOCK_SKIP_INSTALL=1',
  plan: () => `would run \`npx --yes ${PNPM} install --frozen-lockfile\``,
  find,
  obtain,
};
