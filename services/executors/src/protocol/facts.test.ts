import { contractOf } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { NO_EFFECTS } from '../tools/tool.ts';
import { abandonedFact, completedFact, refusedFact } from './facts.ts';

const teller = { pool: 'fs', worker: 'w', sandboxLevel: 'A' } as const;
const claim = { seq: 7, epoch: 2 };
const parses = (data: unknown): boolean =>
  contractOf('tool.execution.completed').schema.safeParse(data).success;

describe('facts fit their contract', () => {
  test('refused: no claim, nothing ran', () => {
    const fact = refusedFact(teller, 'bash', 'stale_baseline', 'changed');
    expect(fact).toMatchObject({ outcome: 'refused', code: 'stale_baseline', claimSeq: null, epoch: 0 });
    expect(parses(fact)).toBe(true);
  });

  test('a code of another family is told as an exception with its message', () => {
    const result = {
      outcome: 'failed',
      code: 'file_not_found',
      message: 'gone',
      output: [],
      effects: NO_EFFECTS,
    } as const;
    const fact = completedFact(teller, { tool: 'read_file' }, claim, {
      result,
      durationMs: 1.5,
      artifacts: [],
    });
    expect(fact).toMatchObject({
      outcome: 'failed',
      code: 'exception',
      message: 'gone',
      claimSeq: 7,
      epoch: 2,
    });
    expect(parses(fact)).toBe(true);
  });

  test('a call without an exit code has none, not 0', () => {
    const result = { outcome: 'success', output: [], effects: NO_EFFECTS } as const;
    const fact = completedFact(teller, { tool: 'read_file' }, claim, {
      result,
      durationMs: 0,
      artifacts: [],
    });
    expect(fact).toMatchObject({ exitCode: null, signal: null });
  });

  test('a lost holder: unknown, with what the probe saw', () => {
    const none = abandonedFact(teller, 'bash', claim, { probe: null, artifacts: [] });
    expect(none).toMatchObject({ outcome: 'indeterminate', code: 'outcome_unknown', claimSeq: 7 });
    expect(none.probe).toBeUndefined();
    const seen = abandonedFact(teller, 'edit_file', claim, {
      probe: { verdict: 'unknown', detail: 'as before' },
      artifacts: [],
    });
    expect(seen).toMatchObject({ outcome: 'indeterminate', probe: 'as before' });
    expect(parses(none) && parses(seen)).toBe(true);
  });

  test('what the probe proves is a success', () => {
    const fact = abandonedFact(teller, 'edit_file', claim, {
      probe: {
        verdict: 'done',
        detail: 'it holds it',
        reads: [{ path: '/a', sha256: 'a'.repeat(64), range: null }],
      },
      artifacts: [],
    });
    expect(fact).toMatchObject({ outcome: 'success', probe: 'it holds it', claimSeq: 7 });
    expect(fact.code).toBeUndefined();
    expect(parses(fact)).toBe(true);
  });
});
