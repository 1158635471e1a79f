// `npm run build`: the workspace as plain JavaScript in dist/, with the same folders, so that an image needs no type
// stripping (Node refuses it for packages below node_modules). In dist/, `pnpm install --prod` links it together.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'dist');
const BUILT = ['contracts', 'kit', 'services/*', 'clients/*', 'deploy'];
// The test package is left out, but the lockfile knows it: pnpm compares the manifests of all packages.
const LINKED = [...BUILT, 'test', '.'];

const inRoot = (patterns: readonly string[]): string[] =>
  globSync(patterns, { cwd: ROOT, exclude: (name) => name === 'node_modules' || name === 'dist' });

rmSync(DIST, { recursive: true, force: true });
const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
const { status } = spawnSync(tsc, ['--project', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

for (const path of inRoot(LINKED.map((dir) => `${dir}/package.json`))) {
  mkdirSync(dirname(join(DIST, path)), { recursive: true });
  // Only "exports", "bin" and the like name .ts files; each has become the .js file beside it.
  writeFileSync(join(DIST, path), readFileSync(join(ROOT, path), 'utf8').replaceAll(/\.ts"/g, '.js"'));
}
for (const path of inRoot(BUILT.map((dir) => `${dir}/src/**/*.*`))) {
  if (!path.endsWith('.ts')) cpSync(join(ROOT, path), join(DIST, path));
}
for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) cpSync(join(ROOT, name), join(DIST, name));
