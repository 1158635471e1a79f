/** `node contracts/scripts/release.ts <version>`: freezes the schemas of today as those of a release. Never twice. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { schemaFiles } from './output/files.ts';
import { RELEASED_DIR } from './released.ts';

const [version = ''] = process.argv.slice(2);
const folder = join(RELEASED_DIR, version);

if (!/^\d+\.\d+\.\d+$/.test(version)) fail('usage: node contracts/scripts/release.ts <major.minor.patch>', 2);
else if (existsSync(folder)) fail(`${version} is released: what is released is never edited`, 1);
else freeze();

function freeze(): void {
  for (const [path, schema] of schemaFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${JSON.stringify(schema, null, 2)}\n`);
  }
  process.stdout.write(`contracts/released/${version} written\n`);
}

function fail(message: string, code: number): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
