/** The schemas of released versions: `contracts/released/<version>/…`, frozen on the day of the release. */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonSchema } from './output/json-schema.ts';

export const RELEASED_DIR = join(import.meta.dirname, '..', 'released');

export interface Release {
  readonly version: string;
  /** Schemas by their path below the release. */
  readonly schemas: ReadonlyMap<string, JsonSchema>;
}

/** All releases; any order. */
export function releases(): Release[] {
  return readdirSync(RELEASED_DIR, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ version: name, schemas: schemasOf(name) }));
}

function schemasOf(version: string): Map<string, JsonSchema> {
  const folder = join(RELEASED_DIR, version);
  return new Map(
    globSync('**/*.json', { cwd: folder })
      .sort()
      .map((path) => [path, JSON.parse(readFileSync(join(folder, path), 'utf8')) as JsonSchema]),
  );
}
