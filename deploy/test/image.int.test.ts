// What the image runs, without Docker: the build makes plain JavaScript, and a service starts from it.
import { spawnSync } from 'node:child_process';
import { globSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureKeys } from '@interlock/kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NatsHandle, startNats } from '../../test/harness/nats.ts';
import { findNatsServer } from '../src/index.ts';
import { startServiceProcess } from '../src/service-process.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'dist');

let dir: string;
let nats: NatsHandle;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'interlock-image-'));
  const built = spawnSync(process.execPath, [join(ROOT, 'deploy', 'scripts', 'build.ts')], {
    encoding: 'utf8',
  });
  expect(`${built.stdout}${built.stderr}`).toBe('');
  await link();
  nats = await startNats();
}, 120_000);
afterAll(async () => {
  await nats?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** What `pnpm install` does in the image: each package's dependencies beside it, those of the workspace as built. */
async function link(): Promise<void> {
  const packages = new Map<string, string>();
  for (const path of globSync('**/package.json', { cwd: DIST, exclude: (name) => name === 'node_modules' })) {
    const { name } = JSON.parse(await readFile(join(DIST, path), 'utf8')) as { name: string };
    packages.set(name, dirname(path));
  }
  for (const folder of packages.values()) {
    const from = join(ROOT, folder, 'node_modules');
    const to = join(DIST, folder, 'node_modules');
    await rm(to, { recursive: true, force: true });
    for (const name of await dependenciesIn(from)) {
      const target = packages.has(name)
        ? join(DIST, packages.get(name) ?? '')
        : realpathSync(join(from, name));
      await mkdir(dirname(join(to, name)), { recursive: true });
      await symlink(target, join(to, name));
    }
  }
}

async function dependenciesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const nested = await Promise.all(
    names.map(async (name) =>
      name.startsWith('@') ? (await readdir(join(folder, name))).map((inner) => `${name}/${inner}`) : [name],
    ),
  );
  return nested.flat().filter((name) => !name.startsWith('.'));
}

test('nothing that was built is TypeScript or a test', () => {
  const built = globSync('**/*.ts', { cwd: DIST, exclude: (name) => name === 'node_modules' });
  expect(built.filter((path) => !path.endsWith('.d.ts'))).toEqual([]);
  expect(globSync('**/*.test.js', { cwd: DIST, exclude: (name) => name === 'node_modules' })).toEqual([]);
});

test('every service of the house has its program', () => {
  const mains = globSync('services/*/src/main.js', { cwd: DIST }).map((path) => path.split('/')[1]);
  expect(mains.toSorted()).toEqual(
    ['event-store', 'executors', 'observer', 'policy-engine', 'provider-gateway', 'validator'].toSorted(),
  );
});

test('the event-store starts from JavaScript, provisions, and says that it lives', async () => {
  await ensureKeys(join(dir, 'keys'), ['event-store']);
  const unit = await startServiceProcess({
    name: 'event-store',
    main: pathToFileURL(join(DIST, 'services', 'event-store', 'src', 'main.js')).href,
    env: {
      PATH: process.env.PATH ?? '',
      // Type stripping off: as Node is where it refuses to strip.
      NODE_OPTIONS: '--no-experimental-strip-types',
      INTERLOCK_NATS_URL: nats.url,
      INTERLOCK_KEYS_DIR: join(dir, 'keys'),
    },
    logFile: join(dir, 'event-store.log'),
    restart: false,
    onUp: () => undefined,
    onDown: () => undefined,
  });
  await expect.poll(() => unit.isReady()).toBe(true);
  expect((await fetch(`${unit.health}/livez`)).status).toBe(200);
  await unit.stop();
}, 60_000);

test('a whole house runs a session from JavaScript', async () => {
  const workspace = join(dir, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'a.txt'), 'hello from the file');
  const turns = [
    { when: { turn: 1 }, parts: [{ tool: 'read_file', input: { path: 'a.txt' } }] },
    { when: { observation_matches: 'hello from the file' }, parts: [{ text: 'read it' }] },
  ];
  await writeFile(join(dir, 'script.json'), JSON.stringify({ turns }));
  const args = [
    '--json',
    '--state-dir',
    join(dir, 'state'),
    '--model',
    `scripted:${join(dir, 'script.json')}`,
  ];
  const run = spawnSync(
    process.execPath,
    [
      '--no-experimental-strip-types',
      join(DIST, 'clients', 'cli', 'src', 'main.js'),
      'run',
      ...args,
      ...['--workspace', workspace, '--approve', 'none', 'read a.txt'],
    ],
    { encoding: 'utf8', env: { ...process.env, NATS_SERVER_BIN: findNatsServer() } },
  );
  expect(run.stderr).not.toMatch(/error/i);
  expect(JSON.parse(run.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    type: 'result',
    status: 'completed',
    text: 'read it',
  });
}, 60_000);
