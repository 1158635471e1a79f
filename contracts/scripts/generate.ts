/** `npm run generate`: writes what follows from the contracts, and removes what no longer does. */
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles, SCHEMAS } from './output/files.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const files = generatedFiles();
for (const path of globSync(`${SCHEMAS}/**/*.json`, { cwd: ROOT })) {
  if (!files.has(path)) rmSync(join(ROOT, path));
}
for (const [path, content] of files) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true });
  writeFileSync(join(ROOT, path), content);
}
process.stdout.write(`${files.size} files written\n`);
