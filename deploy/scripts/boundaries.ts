// Who may import whom. Each rule says what to do instead; boundaries.test.ts plants a fault for each.
// Imports of types only are gone when the code runs: they count for packages (rules 1, 2, 3, 6, 7), not for what a
// file can reach (rules 4 and 5).
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lineOfUse } from './source-scan.ts';
import { type Edge, readWorkspace, type SourceFile, type Workspace } from './workspace.ts';

export const RULES = {
  services:
    'A service imports contracts and kit, nothing else of this workspace. Send a message instead, or move what both need to contracts (a shape) or kit (shell code).',
  contracts: 'contracts imports zod and its own files. What needs more belongs in kit or in a service.',
  kit: 'kit imports contracts, nothing else of this workspace. Take what it needs as a parameter.',
  pure: 'state, decide, evolve and all of contracts reach no I/O, no clock and no chance, not even through another file. Do it in the handler and pass the result in; from kit take only @interlock/kit/pure.',
  cycles: 'Files import one another in a circle. Move what both need into a third file.',
  declared:
    'Not declared in the package.json of the package that uses it (source: dependencies; tests and scripts also devDependencies). Declare it there with `catalog:` or `workspace:*`.',
  inner:
    'Another package is used by the names it exports, tests are used by tests. Export it from that package, or move it. Only tests may take test/harness/ by its path.',
  lane: 'The compare-and-set header is written in kit/src/lane/ only, so that one function builds every filter. Append through kit.',
  console:
    'Source does not write to the console. Services log through kit; the command line writes to its output.',
} as const;

export interface Violation {
  readonly rule: keyof typeof RULES;
  /** `path:line`. */
  readonly place: string;
  readonly what: string;
}

/** Packages that do no I/O of their own, so that pure code may use them. */
const PURE_PACKAGES = new Set(['zod', 'ajv', 'ajv-formats', 'canonicalize', 'diff', 'picomatch', 'yaml']);
/** A digest is a function of its input and nothing else. */
const PURE_BUILTINS: Readonly<Record<string, ReadonlySet<string>>> = {
  'node:crypto': new Set(['createHash', 'hash']),
};
const PURE_NAMES = /\/(state|decide|evolve)\.ts$/;
const IMPURE_USES = [
  ['Date', 'now'],
  ['Math', 'random'],
  ['crypto', '*'],
  ['performance', '*'],
  ['process', '*'],
] as const;
// In two parts, so that this file keeps its own rule.
const LANE_HEADER = new RegExp(`expected-last-subject${'-'}sequence|lastSubject${'S'}equence`, 'i');

/** All violations in the workspace at `root`, in the order of files. */
export function checkBoundaries(root: string): Violation[] {
  const workspace = readWorkspace(root);
  const files = [...workspace.files.values()];
  return [
    ...files.flatMap((file) => [...checkFile(file, workspace), ...checkPure(file, workspace)]),
    ...cycles(workspace),
  ];
}

function checkFile(file: SourceFile, workspace: Workspace): Violation[] {
  const at = (rule: Violation['rule'], line: number, what: string): Violation => ({
    rule,
    place: `${file.path}:${line}`,
    what,
  });
  const found = file.imports.flatMap((edge) => {
    const rules = [
      packageRule(file, edge, workspace),
      declaredRule(file, edge, workspace),
      innerRule(file, edge, workspace),
    ];
    return rules
      .filter((rule) => rule !== undefined)
      .map((rule) =>
        at(
          rule,
          edge.line,
          `imports '${edge.specifier}'${edge.target.kind === 'missing' ? ', which is not there' : ''}`,
        ),
      );
  });
  const header = LANE_HEADER.exec(file.text);
  if (header && !file.path.startsWith('kit/src/lane/')) {
    found.push(at('lane', file.text.slice(0, header.index).split('\n').length, `names ${header[0]}`));
  }
  const logged = file.isSource ? lineOfUse(file.tokens, 'console', '*') : undefined;
  if (logged) found.push(at('console', logged, 'uses console'));
  return found;
}

/** The package of this workspace that an import leads to, other than the file's own. */
function otherPackage(
  file: SourceFile,
  { target }: Edge,
  { files, packages }: Workspace,
): string | undefined {
  const path = target.kind === 'file' ? target.path : undefined;
  const owner =
    target.kind === 'inner'
      ? target.via
      : (path && files.get(path)?.owner) || (target.kind === 'file' && target.via);
  const dir = owner ? owner.dir : packages.find((one) => path?.startsWith(`${one.dir}/`))?.dir;
  return dir === file.owner.dir ? undefined : dir;
}

function packageRule(file: SourceFile, edge: Edge, workspace: Workspace): Violation['rule'] | undefined {
  if (!file.isSource) return undefined;
  const other = otherPackage(file, edge, workspace);
  const { dir } = file.owner;
  if (dir.startsWith('services/') && other && other !== 'contracts' && other !== 'kit') return 'services';
  if (dir === 'kit' && other && other !== 'contracts') return 'kit';
  if (dir !== 'contracts') return undefined;
  const isZod = edge.target.kind === 'package' && edge.target.name === 'zod';
  return isZod || (edge.target.kind === 'file' && !other) ? undefined : 'contracts';
}

function declaredRule(
  file: SourceFile,
  { target }: Edge,
  { rootDependencies }: Workspace,
): Violation['rule'] | undefined {
  if (target.kind === 'missing') return 'declared';
  const via = target.kind === 'file' || target.kind === 'inner' ? target.via?.name : undefined;
  const name = target.kind === 'package' ? target.name : via;
  const { owner } = file;
  if (name === undefined || name === owner.name || owner.dependencies.has(name)) return undefined;
  const mayUseTools = !file.isSource && (owner.devDependencies.has(name) || rootDependencies.has(name));
  return mayUseTools ? undefined : 'declared';
}

function innerRule(file: SourceFile, edge: Edge, workspace: Workspace): Violation['rule'] | undefined {
  const { target } = edge;
  if (target.kind === 'inner') return 'inner';
  if (target.kind !== 'file') return undefined;
  const intoTests = workspace.files.get(target.path)?.isTest ?? target.path.startsWith('test/');
  if (intoTests && !file.isTest) return 'inner';
  const byPath = target.via === undefined && otherPackage(file, edge, workspace) !== undefined;
  return byPath && !(file.isTest && target.path.startsWith('test/harness/')) ? 'inner' : undefined;
}

/** Walks everything a pure file reaches and names the first way out of the pure world. */
function checkPure(start: SourceFile, { files }: Workspace): Violation[] {
  if (!start.isSource || !(start.owner.dir === 'contracts' || PURE_NAMES.test(start.path))) return [];
  const seen = new Set<string>();
  const walk = (file: SourceFile): string | undefined => {
    seen.add(file.path);
    const leak = leakOf(file);
    if (leak) return `${file.path} ${leak}`;
    for (const { target, typeOnly } of file.imports) {
      const next = target.kind === 'file' && !typeOnly ? files.get(target.path) : undefined;
      const way = next && !seen.has(next.path) ? walk(next) : undefined;
      if (way) return `${file.path} -> ${way}`;
    }
    return undefined;
  };
  const way = walk(start);
  return way ? [{ rule: 'pure', place: `${start.path}:1`, what: way }] : [];
}

/** How this file by itself leaves the pure world. */
function leakOf(file: SourceFile): string | undefined {
  const edge = file.imports.find((one) => !one.typeOnly && leavesPure(one));
  if (edge) return `imports '${edge.specifier}'`;
  const use = IMPURE_USES.find(([object, member]) => lineOfUse(file.tokens, object, member));
  return use ? `uses ${use.join('.')}` : undefined;
}

function leavesPure({ target, specifier, names }: Edge): boolean {
  if (target.kind === 'package') return !PURE_PACKAGES.has(target.name);
  const allowed = PURE_BUILTINS[specifier];
  return (
    target.kind === 'builtin' && !(allowed && names.length > 0 && names.every((name) => allowed.has(name)))
  );
}

function cycles({ files }: Workspace): Violation[] {
  const done = new Set<string>();
  const found: Violation[] = [];
  const walk = (file: SourceFile, trail: readonly string[]): void => {
    const start = trail.indexOf(file.path);
    if (start >= 0) {
      found.push({
        rule: 'cycles',
        place: `${file.path}:1`,
        what: [...trail.slice(start), file.path].join(' -> '),
      });
      return;
    }
    if (done.has(file.path)) return;
    for (const { target, typeOnly } of file.imports) {
      const next = target.kind === 'file' && !typeOnly ? files.get(target.path) : undefined;
      if (next) walk(next, [...trail, file.path]);
    }
    done.add(file.path);
  };
  for (const file of files.values()) walk(file, []);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const violations = checkBoundaries(resolve(process.argv[2] ?? '.'));
  for (const { rule, place, what } of violations)
    process.stdout.write(`${place} [${rule}] ${what}\n  ${RULES[rule]}\n`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
