/** The executor pool of the bench: one tool that does nothing, so that what is measured is the governing. */
import { createExecutor, defineTool, NO_EFFECTS } from '@interlock/executors';
import { runMain } from '@interlock/kit';
import { z } from 'zod';

export const BENCH_POOL = 'bench';

const noop = defineTool({
  name: 'noop',
  version: '1',
  description: 'Does nothing.',
  input: z.strictObject({ n: z.number() }),
  readOnly: true,
  visibleIn: ['normal', 'auto-edit'],
  needsBaseline: false,
  budgets: { timeoutMs: 10_000, outputBytes: 1024 },
  resumePolicy: 'rerun-safe',
  preflight: (input) =>
    Promise.resolve({
      ok: true,
      input,
      changes: [],
      assessment: {
        effects: ['read-only'],
        paths: [],
        hosts: [],
        commands: [],
        confidence: 'certain',
        summary: 'nothing',
      },
      baselines: [],
    }),
  execute: () =>
    Promise.resolve({
      outcome: 'success',
      output: [{ channel: 'content', text: 'ok', omittedBytes: 0 }],
      effects: NO_EFFECTS,
    }),
});

if (import.meta.main)
  await runMain(`executor-${BENCH_POOL}`, createExecutor({ pool: BENCH_POOL, tools: [noop] }));
