import type { ToolExecutionCompletedV1 } from '@interlock/contracts';
import { sample, sha } from '@interlock/contracts/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds } from '../../test/holds.ts';
import { byteLength } from './bytes.ts';
import { projectFailed } from './failed.ts';
import { projectIndeterminate } from './indeterminate.ts';
import { projectSuccess } from './success.ts';

const word = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.constantFrom('a.txt', 'b/c.ts'));
const manyOf = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> =>
  fc.array(value, { maxLength: 40 });

const facts: fc.Arbitrary<ToolExecutionCompletedV1> = fc
  .record({
    exitCode: fc.option(fc.integer()),
    signal: fc.option(word),
    durationMs: fc.nat(),
    message: fc.string({ unit: 'grapheme', maxLength: 20_000 }),
    probe: fc.string({ unit: 'grapheme', maxLength: 5000 }),
    output: fc.array(
      fc.record({
        channel: word,
        text: fc.tuple(word, fc.nat(200)).map(([text, n]) => text.repeat(n)),
        omittedBytes: fc.nat(),
      }),
      { maxLength: 10 },
    ),
    files: manyOf(word),
    excluded: manyOf(word),
    hosts: manyOf(word),
    artifacts: manyOf(word),
  })
  .map(({ files, excluded, hosts, artifacts, ...given }) => ({
    ...(sample('tool.execution.completed') as ToolExecutionCompletedV1),
    ...given,
    code: 'timeout' as const,
    effects: {
      files: files.map((path) => ({ path, change: 'changed' as const, before: null, after: null })),
      scope: 'complete' as const,
      excluded,
    },
    network: hosts.map((host) => ({ host, port: 443, allowed: false })),
    artifacts: artifacts.map((name) => ({
      uri: `artifact://${sha('1')}`,
      name,
      mediaType: name,
      sizeBytes: 1,
    })),
  }));

test('whatever a fact holds, an observation keeps its budget and counts what it leaves out', () => {
  const projections = [projectSuccess, projectFailed, projectIndeterminate];
  holds(
    fc.property(
      facts,
      fc.integer({ min: 8192, max: 20_000 }),
      fc.boolean(),
      (data, budgetBytes, readOnly) => {
        for (const project of projections) {
          const { parts, omittedBytes } = project(data, { readOnly, budgetBytes });
          const bytes = parts.reduce((sum, { text }) => sum + byteLength(text), 0);
          expect(bytes).toBeLessThanOrEqual(budgetBytes);
          expect(omittedBytes).toBeGreaterThanOrEqual(
            data.output.reduce((sum, one) => sum + one.omittedBytes, 0),
          );
          if (data.exitCode !== null)
            expect(parts.map(({ text }) => text)).toContain(`Exit code ${data.exitCode}.`);
        }
      },
    ),
    { numRuns: 60 },
  );
});
