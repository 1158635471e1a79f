import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkBoundaries, RULES } from './boundaries.ts';
import { importsOf, tokensOf } from './source-scan.ts';

const manifest = (
  name: string,
  dependencies: string[],
  exports: Record<string, string> = { '.': './src/index.ts' },
): string =>
  JSON.stringify({
    name,
    exports,
    dependencies: Object.fromEntries(dependencies.map((one) => [one, 'catalog:'])),
  });

/** A small workspace without a fault: two services, kit with a pure entry, a test that takes the harness. */
const SOUND: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({ name: 'root', devDependencies: { vitest: 'catalog:' } }),
  'pnpm-workspace.yaml':
    'packages:\n  - contracts\n  - kit\n  - services/*\n  - test\n\ncatalog:\n  zod: 4.6.7\n',
  'contracts/package.json': manifest('@x/contracts', ['zod']),
  'contracts/src/index.ts': "export { shape } from './shape.ts';",
  'contracts/src/shape.ts': "import { z } from 'zod';\nexport const shape = z.string();",
  'kit/package.json': manifest('@x/kit', ['@x/contracts', '@nats-io/transport-node'], {
    '.': './src/index.ts',
    './pure': './src/pure.ts',
  }),
  'kit/src/index.ts': "import { connect } from '@nats-io/transport-node';\nexport const open = connect;",
  'kit/src/pure.ts': "import { createHash } from 'node:crypto';\nexport const digest = createHash;",
  'services/a/package.json': manifest('@x/a', ['@x/contracts', '@x/kit']),
  'services/a/src/index.ts': "export { decide } from './decide.ts';",
  'services/a/src/decide.ts':
    "import { shape } from '@x/contracts';\nimport type { open } from '@x/kit';\nimport { digest } from '@x/kit/pure';\nexport const decide = [shape, digest] as unknown as typeof open;",
  'services/a/src/a.int.test.ts':
    "import { test } from 'vitest';\nimport { startNats } from '../../../test/harness/nats.ts';\ntest('a', startNats);",
  'services/b/package.json': manifest('@x/b', ['@x/kit']),
  'services/b/src/index.ts': "import { open } from '@x/kit';\nexport const b = open;",
  'test/package.json': manifest('@x/test', []),
  'test/harness/nats.ts': 'export const startNats = (): void => undefined;',
};

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'interlock-boundaries-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function faultsOf(changes: Readonly<Record<string, string>>): string[] {
  for (const [path, text] of Object.entries({ ...SOUND, ...changes })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return checkBoundaries(root).map(({ rule, place }) => `${rule} ${place}`);
}

test('a sound workspace has no violation', () => {
  expect(faultsOf({})).toEqual([]);
});

const header = ['Nats-Expected-Last', 'Subject-Sequence'].join('-');

/** Rule, what is wrong, the fault, and where it must be found. */
const PLANTED: readonly [keyof typeof RULES, string, Record<string, string>, string][] = [
  [
    'services',
    'a service imports another service',
    {
      'services/b/package.json': manifest('@x/b', ['@x/a']),
      'services/b/src/index.ts': "import type { decide } from '@x/a';\nexport type B = typeof decide;",
    },
    'services/b/src/index.ts:1',
  ],
  [
    'contracts',
    'contracts imports a Node built-in',
    {
      'contracts/src/shape.ts':
        "import type { Stats } from 'node:fs';\nexport type Shape = Stats;\nexport const shape = 1;",
    },
    'contracts/src/shape.ts:1',
  ],
  [
    'kit',
    'kit imports a service',
    {
      'kit/package.json': manifest('@x/kit', ['@x/a', '@nats-io/transport-node']),
      'kit/src/index.ts': "export { decide as open } from '@x/a';",
      'services/a/src/decide.ts': 'export const decide = 1;',
      'services/b/package.json': manifest('@x/b', []),
      'services/b/src/index.ts': 'export {};',
    },
    'kit/src/index.ts:1',
  ],
  [
    'pure',
    'decide reaches NATS through another file and a package',
    {
      'services/a/src/decide.ts': "import { through } from './through.ts';\nexport const decide = through;",
      'services/a/src/through.ts': "export { open as through } from '@x/kit';",
    },
    'services/a/src/decide.ts:1',
  ],
  [
    'pure',
    'the pure entry of kit takes more of node:crypto than digests',
    { 'kit/src/pure.ts': "import { randomUUID } from 'node:crypto';\nexport const digest = randomUUID;" },
    'services/a/src/decide.ts:1',
  ],
  [
    'pure',
    'decide reads the clock',
    { 'services/a/src/decide.ts': 'export const decide = () => Date.now();' },
    'services/a/src/decide.ts:1',
  ],
  [
    'cycles',
    'two files import one another',
    {
      'services/b/src/index.ts': "import { one } from './one.ts';\nexport const b = () => one;",
      'services/b/src/one.ts': "import { b } from './index.ts';\nexport const one = () => b;",
    },
    'services/b/src/index.ts:1',
  ],
  [
    'declared',
    'a dependency is not declared',
    { 'services/b/src/index.ts': "await import('execa');" },
    'services/b/src/index.ts:1',
  ],
  [
    'declared',
    'source uses a tool that only the root declares',
    { 'services/b/src/index.ts': "import { vi } from 'vitest';\nexport const b = vi;" },
    'services/b/src/index.ts:1',
  ],
  [
    'declared',
    'an import leads nowhere',
    { 'services/b/src/index.ts': "export { b } from './gone.ts';" },
    'services/b/src/index.ts:1',
  ],
  [
    'inner',
    'source imports a test',
    {
      'services/b/src/index.ts': "import './b.test.ts';",
      'services/b/src/b.test.ts': 'export {};',
    },
    'services/b/src/index.ts:1',
  ],
  [
    'inner',
    "a package's inner file is named",
    { 'services/b/src/index.ts': "import { open } from '@x/kit/src/index.ts';\nexport const b = open;" },
    'services/b/src/index.ts:1',
  ],
  [
    'inner',
    "another package's file is taken by its path",
    { 'services/b/src/b.test.ts': "import '../../a/src/index.ts';" },
    'services/b/src/b.test.ts:1',
  ],
  [
    'lane',
    'the header is written elsewhere',
    { 'services/b/src/index.ts': `export const b = '${header.toLowerCase()}';` },
    'services/b/src/index.ts:1',
  ],
  [
    'console',
    'source writes to the console',
    { 'services/b/src/index.ts': "\nconsole.error('b');" },
    'services/b/src/index.ts:2',
  ],
];

describe('a planted fault is caught', () => {
  test.each(PLANTED)('%s: %s', (rule, _what, changes, place) => {
    expect(faultsOf(changes)).toContain(`${rule} ${place}`);
  });

  test('for every rule there is one', () => {
    expect(new Set(PLANTED.map(([rule]) => rule))).toEqual(new Set(Object.keys(RULES)));
  });
});

test('the header may be written in kit/src/lane/', () => {
  expect(faultsOf({ 'kit/src/lane/header.ts': `export const HEADER = '${header}';` })).toEqual([]);
});

test('what stands in comments, strings, templates and regular expressions is no import', () => {
  const text = [
    "// import 'a';",
    "/* import 'b'; */ const s = \"import 'c'\";",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text under test
    "const t = `import 'd' ${x ? `${{ y: '}' }}` : ''} from 'e'`;",
    "const r = /['\"`/]/.test(s) ? 1 / 2 : 3 / 4; // from 'f'",
    "import g, { type h, i as j } from 'k';",
    "import type { l } from 'm';",
    "export * from 'n';",
    "await import('o');",
  ].join('\n');
  const found = importsOf(tokensOf(text)).map(({ specifier, line, typeOnly }) => [specifier, line, typeOnly]);
  expect(found).toEqual([
    ['k', 5, false],
    ['m', 6, true],
    ['n', 7, false],
    ['o', 8, false],
  ]);
});
