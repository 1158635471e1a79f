// The workspace as the boundary check sees it: packages, their source files, and what each import leads to.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { type Import, importsOf, type Token, tokensOf } from './source-scan.ts';

export interface Package {
  readonly name: string;
  /** Relative to the root: `services/validator`. */
  readonly dir: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: ReadonlySet<string>;
  readonly devDependencies: ReadonlySet<string>;
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly owner: Package;
  /** A `*.test.ts`, or support for tests: the package `test`, and a folder `test/` of any other. */
  readonly isTest: boolean;
  /** Product code: in a package's `src/`, and not a test. */
  readonly isSource: boolean;
  readonly imports: readonly Edge[];
}

export type Target =
  | { readonly kind: 'file'; readonly path: string; readonly via?: Package }
  | { readonly kind: 'inner'; readonly via: Package }
  | { readonly kind: 'builtin' }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'missing' };

export interface Edge extends Import {
  readonly target: Target;
}

export interface Workspace {
  readonly packages: readonly Package[];
  readonly rootDependencies: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, SourceFile>;
}

const SKIPPED = new Set(['node_modules', 'dist', 'corpus', 'fixtures', 'histories']);
const SOURCE = /\.(ts|mts|mjs)$/;

export function readWorkspace(root: string): Workspace {
  const packages = packageDirs(root).map((dir) => readPackage(root, dir));
  const files = packages.flatMap((owner) =>
    listFiles(join(root, owner.dir)).map((path) => readSource({ root, packages, owner, path })),
  );
  return {
    packages,
    rootDependencies: new Set(Object.keys(readJson(join(root, 'package.json')).devDependencies ?? {})),
    files: new Map(files.map((file) => [file.path, file])),
  };
}

/** The list in pnpm-workspace.yaml; an entry is a folder or `folder/*`. */
function packageDirs(root: string): string[] {
  const yaml = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8');
  const entries = /^packages:\n((?: +- .+\n)+)/m.exec(yaml)?.[1]?.match(/[^\s'"-][^\s'"]*/g) ?? [];
  const dirs = entries.flatMap((entry) => {
    if (!entry.endsWith('/*')) return [entry];
    const parent = entry.slice(0, -2);
    return existsSync(join(root, parent))
      ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`)
      : [];
  });
  return dirs.filter((dir) => existsSync(join(root, dir, 'package.json')));
}

interface Manifest {
  name: string;
  exports?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const readJson = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8'));

function readPackage(root: string, dir: string): Package {
  const {
    name,
    exports = {},
    dependencies = {},
    devDependencies = {},
  } = readJson(join(root, dir, 'package.json'));
  return {
    name,
    dir,
    exports,
    dependencies: new Set(Object.keys(dependencies)),
    devDependencies: new Set(Object.keys(devDependencies)),
  };
}

function listFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory())
      return SKIPPED.has(entry.name) || entry.name.startsWith('.') ? [] : listFiles(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
}

interface Found {
  readonly root: string;
  readonly packages: readonly Package[];
  readonly owner: Package;
  /** Absolute. */
  readonly path: string;
}

function readSource(found: Found): SourceFile {
  const { root, owner } = found;
  const path = relative(root, found.path).split(sep).join('/');
  const text = readFileSync(found.path, 'utf8');
  const tokens = tokensOf(text);
  const support = owner.dir === 'test' ? 'test/' : `${owner.dir}/test/`;
  const isTest = path.endsWith('.test.ts') || path.startsWith(support);
  return {
    path,
    text,
    tokens,
    owner,
    isTest,
    isSource: !isTest && path.startsWith(`${owner.dir}/src/`),
    imports: importsOf(tokens).map((edge) => ({ ...edge, target: resolve(edge.specifier, found) })),
  };
}

function resolve(specifier: string, { root, packages, path }: Found): Target {
  if (specifier.startsWith('.')) {
    const target = join(dirname(path), specifier);
    const isFile = existsSync(target) && statSync(target).isFile();
    return isFile ? { kind: 'file', path: relative(root, target).split(sep).join('/') } : { kind: 'missing' };
  }
  if (isBuiltin(specifier)) return { kind: 'builtin' };
  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  const via = packages.find((one) => one.name === name);
  if (!via) return { kind: 'package', name };
  const file = via.exports[`.${specifier.slice(name.length)}`];
  return file
    ? { kind: 'file', path: join(via.dir, file).split(sep).join('/'), via }
    : { kind: 'inner', via };
}
