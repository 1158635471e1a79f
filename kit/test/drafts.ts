/** Events of every kind the tests need, as short as their contracts allow. */
import type { EventDraft } from '../src/index.ts';

export function retrying(message: string, attempt = 1): EventDraft<'model.retrying'> {
  return {
    type: 'model.retrying',
    run: 'run1',
    data: { attempt, category: 'transport', message, waitMs: 0, usage: null },
  };
}

export function intent(rawInput: unknown, reason?: string): EventDraft<'tool.intent'> {
  return {
    type: 'tool.intent',
    data: {
      tool: 'read_file',
      rawInput,
      inputFormat: 'json',
      proposer: 'model',
      ...(reason ? { reason } : {}),
    },
  };
}

export function cancelled(detail: string): EventDraft<'tool.cancelled'> {
  return { type: 'tool.cancelled', data: { reason: 'run_cancelled', detail } };
}

export function userMessage(text: string): EventDraft<'user.message'> {
  return { type: 'user.message', data: { text, person: 'ada' } };
}

export function denied(reason: string): EventDraft<'tool.approval.denied'> {
  return { type: 'tool.approval.denied', data: { kind: 'rule', rule: 'r1', reason, verdicts: [] } };
}

export function completed(pool: string): EventDraft<'tool.execution.completed'> {
  return {
    type: 'tool.execution.completed',
    data: {
      pool,
      tool: 'bash',
      outcome: 'success',
      worker: 'w1',
      claimSeq: 1,
      epoch: 1,
      sandboxLevel: 'A',
      exitCode: 0,
      signal: null,
      durationMs: 1,
      output: [],
      artifacts: [],
      effects: { files: [], scope: 'none', excluded: [] },
      network: [],
      reads: [],
    },
  };
}
