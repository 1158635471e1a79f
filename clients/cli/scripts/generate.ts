/** `node clients/cli/scripts/generate.ts`: writes the JSON Schemas of what commands print. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaFiles } from '../src/output-schemas.ts';

const DIRECTORY = join(import.meta.dirname, '..', 'schemas');

const files = schemaFiles();
mkdirSync(DIRECTORY, { recursive: true });
for (const name of readdirSync(DIRECTORY)) if (!files.has(name)) rmSync(join(DIRECTORY, name));
for (const [name, text] of files) writeFileSync(join(DIRECTORY, name), text);
process.stdout.write(`${files.size} files written\n`);
