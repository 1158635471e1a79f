/** Sessions up to a point, in memory. */
import type {
  Mode,
  StoredEventOf,
  ToolAnswerV1,
  ToolApprovalAskedV1,
  ToolValidatedV1,
} from '@interlock/contracts';
import { bindingOf, groundsOf } from '../src/binding.ts';
import { promptOf } from '../src/prompt.ts';
import { evolve, initialState, type PolicyState } from '../src/state.ts';
import { createLog, type LogOptions, type MemoryLog } from './log.ts';
import { bash, digestOf, editFile, WORKSPACE } from './samples.ts';

export const POLICY_DIGEST = 'd'.repeat(64);
export const EXPIRES_AT = '2026-12-01T12:00:00.000Z';

export interface Story extends MemoryLog {
  state(): PolicyState;
  ask(
    call: ToolValidatedV1,
    more?: Partial<ToolApprovalAskedV1>,
    options?: LogOptions,
  ): StoredEventOf<'tool.approval.asked'>;
  answer(
    asked: StoredEventOf<'tool.approval.asked'>,
    answer: Partial<ToolAnswerV1>,
    options?: LogOptions,
  ): StoredEventOf<'tool.answer'>;
}

/** A session whose model proposed `calls`, each validated, by intents `i1`, `i2`, … */
export function proposed(calls: readonly ToolValidatedV1[], mode: Mode = 'normal'): Story {
  const log = createLog();
  log.append('session.opened', {
    workspace: WORKSPACE,
    mode,
    model: { provider: 'scripted', model: 'script' },
    policies: {},
    budgets: {},
    person: 'ada',
  });
  log.append('user.message', { text: 'do it', attachments: [], person: 'ada' });
  log.append('run.started', { number: 1 });
  const snapshot = 'c'.repeat(64);
  log.append('model.requested', {
    provider: 'scripted',
    model: 'script',
    contextSnapshotId: snapshot,
    throughSeq: 3,
    projection: 'p1',
    tools: [bash, editFile].map((tool) => ({
      name: tool.name,
      digest: digestOf(tool),
      pool: tool.pool,
      readOnly: tool.readOnly,
    })),
    because: 'next_turn',
    budgetLeft: { turns: null, tokens: null, costUsd: null },
  });
  log.append('model.attempt.started', { attempt: 1, worker: 'w', provider: 'scripted', model: 'script' });
  log.append('model.message', {
    attempt: 1,
    provider: 'scripted',
    model: 'script',
    contextSnapshotId: snapshot,
    parts: calls.map((call, index) => ({
      type: 'tool_call' as const,
      intent: `i${index + 1}`,
      tool: call.tool,
      rawInput: call.input,
      inputFormat: 'json' as const,
      providerRef: `p${index + 1}`,
    })),
    stop: 'tool_calls',
    nativeStop: null,
    usage: null,
    costUsd: null,
    latencyMs: 1,
    requestId: null,
  });
  calls.forEach((call, index) => {
    const options = { intent: `i${index + 1}` };
    log.append(
      'tool.intent',
      { tool: call.tool, rawInput: call.input, inputFormat: 'json', proposer: 'model' },
      options,
    );
    log.append('tool.validated', call, options);
  });
  return {
    ...log,
    state: () =>
      log.entries.reduce((state, entry) => evolve(state, entry as never), initialState('local', 's1')),
    ask(call, more = {}, options = { intent: 'i1' }) {
      const grounds = groundsOf(call, POLICY_DIGEST, 1);
      return log.append(
        'tool.approval.asked',
        {
          prompt: promptOf(call, { proposer: 'model' }, null),
          risk: 'medium',
          verdicts: [],
          grounds,
          bindingSha256: bindingOf(call.toolDigest, grounds),
          approvers: [],
          scopes: ['once', 'session', 'project'],
          expiresAt: EXPIRES_AT,
          ...more,
        },
        options,
      );
    },
    answer(asked, answer, options = {}) {
      return log.append(
        'tool.answer',
        {
          intent: asked.envelope.intent ?? '',
          askedId: asked.envelope.id,
          bindingSha256: asked.data.bindingSha256,
          verdict: 'approve',
          scope: 'once',
          person: 'ada',
          ...answer,
        },
        options,
      );
    },
  };
}
