/** What is wrong with the generated files and the releases, in words. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adviceFor, incompatibilities } from './compatibility.ts';
import { generatedFiles, SCHEMAS, schemaFiles } from './output/files.ts';
import { releases } from './released.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Empty when all is well. */
export function complaints(): string[] {
  return [...outdated(), ...broken()];
}

function outdated(): string[] {
  const files = generatedFiles();
  const stale = [...files]
    .filter(
      ([path, content]) =>
        !existsSync(join(ROOT, path)) || readFileSync(join(ROOT, path), 'utf8') !== content,
    )
    .map(([path]) => `${path} is not what the contracts say. Run npm run generate and commit the result.`);
  const left = globSync(`${SCHEMAS}/**/*.json`, { cwd: ROOT })
    .filter((path) => !files.has(path))
    .map((path) => `${path} follows from no contract. Run npm run generate and commit the result.`);
  return [...stale, ...left];
}

function broken(): string[] {
  const current = schemaFiles();
  return releases().flatMap(({ version, schemas }) =>
    incompatibilities(schemas, current).map((it) => adviceFor(it, version)),
  );
}
