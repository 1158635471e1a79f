/** Valid data for every type, to be varied by tests: `sample('tool.validated', { tool: 'bash' })`. */
import type { EventInput, EventType, ToolCallPart } from '../src/index.ts';

/** A hash-like string that differs by its digit. */
export const sha = (digit: string): string => digit.repeat(64);

const USAGE = { inputUncached: 100, cacheRead: 20, cacheWrite: 0, output: 30, reasoning: 10 };
const BUDGETS = { timeoutMs: 10_000, outputBytes: 16_384 };
const EXPIRES = '2026-11-30T13:00:00.000Z';
const GROUNDS = {
  inputSha256: sha('1'),
  policyDigest: sha('2'),
  baselinesSha256: sha('3'),
  sandboxLevel: 'A',
  registrySeq: 3,
} as const;
/** The tool that samples speak of. */
export const READ_FILE = { name: 'read_file', digest: sha('a'), pool: 'fs', readOnly: true } as const;
export const WRITE_FILE = { name: 'write_file', digest: sha('b'), pool: 'fs', readOnly: false } as const;

const SAMPLES: { readonly [Type in EventType]: () => EventInput<Type> } = {
  'session.opened': () => ({
    workspace: '/srv/demo',
    mode: 'normal',
    model: { provider: 'scripted', model: 'script-1' },
    person: 'ada',
  }),
  'session.closed': () => ({ reason: 'done' }),
  'user.message': () => ({ text: 'Read README.md', person: 'ada' }),
  'run.cancel': () => ({ reason: 'person', by: 'ada' }),
  'tool.answer': () => ({
    intent: 'call-1',
    askedId: '01KB9YGW000000000000000000',
    bindingSha256: sha('4'),
    verdict: 'approve',
    person: 'ada',
  }),
  'undo.requested': () => ({
    target: { kind: 'intent', id: 'call-1' },
    newIntent: 'undo-1',
    person: 'ada',
  }),
  'run.started': () => ({ number: 1 }),
  'run.finished': () => ({
    reason: 'completed',
    turns: 1,
    usage: USAGE,
    costUsd: null,
    throughSeq: 2,
  }),
  'model.requested': () => ({
    provider: 'scripted',
    model: 'script-1',
    contextSnapshotId: sha('5'),
    throughSeq: 3,
    projection: 'p1',
    tools: [READ_FILE, WRITE_FILE],
    because: 'next_turn',
    budgetLeft: { turns: null, tokens: null, costUsd: null },
  }),
  'model.attempt.started': () => ({
    attempt: 1,
    worker: 'provider-gateway/w1',
    provider: 'scripted',
    model: 'script-1',
  }),
  'model.retrying': () => ({
    attempt: 1,
    category: 'overloaded',
    message: 'try later',
    waitMs: 500,
    usage: null,
  }),
  'model.failed': () => ({
    category: 'overloaded',
    message: 'gave up',
    attempts: 3,
    usage: USAGE,
    costUsd: 0.01,
  }),
  'model.message': () => ({
    attempt: 1,
    provider: 'scripted',
    model: 'script-1',
    contextSnapshotId: sha('5'),
    parts: [{ type: 'text', text: 'Done.' }],
    stop: 'end_turn',
    nativeStop: null,
    usage: USAGE,
    costUsd: null,
    latencyMs: 12,
    requestId: null,
  }),
  'context.compacted': () => ({ replaced: { fromSeq: 1, throughSeq: 2 }, summary: 'They said hello.' }),
  'tool.intent': () => ({
    tool: 'read_file',
    rawInput: { path: 'README.md' },
    inputFormat: 'json',
    proposer: 'model',
  }),
  'tool.validated': () => ({
    tool: 'read_file',
    pool: 'fs',
    toolDigest: sha('a'),
    input: { path: '/srv/demo/README.md' },
    inputSha256: sha('1'),
    changes: [],
    assessment: {
      effects: ['read-only'],
      paths: [],
      hosts: [],
      commands: [],
      confidence: 'certain',
      summary: 'read README.md',
    },
    baselines: [],
    sandboxLevel: 'A',
  }),
  'tool.validation_failed': () => ({
    errors: [
      {
        path: '/path',
        code: 'file_not_found',
        message: 'There is no READM.md.',
        advice: 'List the folder.',
      },
    ],
  }),
  'tool.approval.asked': () => ({
    prompt: { title: 'Write', detail: 'README.md', effects: ['writes-workspace'], paths: [], hosts: [] },
    risk: 'medium',
    verdicts: [],
    grounds: GROUNDS,
    bindingSha256: sha('4'),
    approvers: [],
    scopes: ['once'],
    expiresAt: EXPIRES,
  }),
  'tool.approval.denied': () => ({ kind: 'rule', rule: 'no-secrets', reason: 'secret', verdicts: [] }),
  'tool.approval.allowed': () => ({
    invocation: {
      intent: 'call-1',
      tool: 'read_file',
      toolDigest: sha('a'),
      pool: 'fs',
      input: { path: '/srv/demo/README.md' },
      inputSha256: sha('1'),
      workspace: '/srv/demo',
      sandbox: { levels: ['A'], writable: false, network: false },
      budgets: BUDGETS,
      baselines: [],
      resumePolicy: 'rerun-safe',
      expiresAt: EXPIRES,
    },
    by: { kind: 'rule', layer: 'default', rule: 'reads' },
    verdicts: [],
    grounds: GROUNDS,
  }),
  'tool.cancelled': () => ({ reason: 'run_cancelled' }),
  'tool.execution.started': () => ({
    pool: 'fs',
    worker: 'executors/w1',
    epoch: 1,
    leaseUntil: '2026-11-30T12:01:00.000Z',
    cwd: '/srv/demo',
    envNames: ['PATH'],
    sandboxLevel: 'A',
    limits: BUDGETS,
  }),
  'tool.execution.completed': completed,
  'tool.observation': () => ({
    tool: 'read_file',
    ending: 'success',
    isError: false,
    parts: [{ label: 'untrusted', text: 'hello' }],
    omittedBytes: 0,
    artifacts: [],
  }),
  'execution.late': () => ({ intent: 'call-1', why: 'the lease had lapsed', fact: completed() }),
  'job.ended': () => ({
    intent: 'call-1',
    job: 'job-1',
    exitCode: 0,
    signal: null,
    durationMs: 5,
    effects: [],
    output: [],
  }),
  'tool.registered': () => ({
    digest: sha('a'),
    definition: {
      name: 'read_file',
      version: '1.0.0',
      description: 'Reads a file.',
      pool: 'fs',
      inputSchema: { type: 'object' },
      readOnly: true,
      visibleIn: ['normal', 'read-only', 'auto-edit'],
      needsBaseline: false,
      budgets: BUDGETS,
      resumePolicy: 'rerun-safe',
    },
  }),
  'policy.activated': () => ({
    layer: 'managed',
    digest: sha('6'),
    artifact: `artifact://${sha('6')}`,
    rules: 3,
  }),
  'grant.given': () => ({
    grantId: 'grant-1',
    person: 'ada',
    scope: 'project',
    workspace: '/srv/demo',
    pattern: { tool: 'bash', command: 'npm test', effects: ['runs-project-code'] },
    answerId: '01KB9YGW000000000000000000',
    expiresAt: null,
  }),
  'grant.revoked': () => ({ grantId: 'grant-1', person: 'ada' }),
  'event.quarantined': () => ({
    session: 'demo',
    seq: 7,
    subject: 'ev.v1.local.demo.s.run.started',
    code: 'chain_broken',
    reason: 'chains to 1, the lane ends at 5',
  }),
  checkpoint: () => ({
    fromSeq: 1,
    throughSeq: 9,
    events: 9,
    root: sha('7'),
    previousRoot: sha('0'),
  }),
};

function completed(): EventInput<'tool.execution.completed'> {
  return {
    pool: 'fs',
    tool: 'read_file',
    outcome: 'success',
    worker: 'executors/w1',
    claimSeq: 1,
    epoch: 1,
    sandboxLevel: 'A',
    exitCode: null,
    signal: null,
    durationMs: 4,
    output: [{ channel: 'content', text: 'hello\n', omittedBytes: 0 }],
    artifacts: [],
    effects: { files: [], scope: 'declared', excluded: [] },
    network: [],
    reads: [],
  };
}

/** Valid data of a type, fresh each time; `overrides` replace top-level fields. */
export function sample<Type extends EventType>(
  type: Type,
  overrides: Partial<EventInput<Type>> = {},
): EventInput<Type> {
  return { ...SAMPLES[type](), ...overrides };
}

/** A call as a part of a `model.message`. */
export function toolCall(
  intent: string,
  tool = 'read_file',
  rawInput: unknown = { path: 'README.md' },
): ToolCallPart {
  return { type: 'tool_call', intent, tool, rawInput, inputFormat: 'json', providerRef: `ref-${intent}` };
}
