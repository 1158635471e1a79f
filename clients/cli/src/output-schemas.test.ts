import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OUTPUT_SCHEMAS, schemaFiles } from './output-schemas.ts';

const DIRECTORY = join(import.meta.dirname, '..', 'schemas');

describe('the published schemas', () => {
  test('are what the sources say: node clients/cli/scripts/generate.ts', () => {
    const published = new Map(
      readdirSync(DIRECTORY).map((name) => [name, readFileSync(join(DIRECTORY, name), 'utf8')]),
    );
    expect(published).toEqual(new Map(schemaFiles()));
  });

  test('take an error line of any command, and refuse a line without its members', () => {
    for (const [command, schema] of Object.entries(OUTPUT_SCHEMAS)) {
      const line = { type: 'error', code: 'usage', message: 'no' };
      expect(schema.safeParse(line).success, command).toBe(true);
      expect(schema.safeParse({}).success, command).toBe(false);
    }
  });
});
