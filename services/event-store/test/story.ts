/** One session told event by event, each by the service that may: what the whole house would append. */
import {
  type ConversationState,
  EVENTS,
  type EventInput,
  type EventType,
  evolve,
  initialState,
  type LaneAddress,
  type Role,
  sessionFilter,
  tailOf,
} from '@interlock/contracts';
import { append, appendInbox, type Bus, hashOf, readRange } from '@interlock/kit';
import type { TestHouse } from './support.ts';

const sha = hashOf('x');
const grounds = {
  inputSha256: sha,
  policyDigest: sha,
  baselinesSha256: sha,
  sandboxLevel: 'A',
  registrySeq: 0,
} as const;
export const asked = (): EventInput<'tool.approval.asked'> => ({
  prompt: {
    title: 'Write a file',
    detail: 'a.txt',
    preview: '+a',
    effects: ['writes-workspace'],
    paths: [],
    hosts: [],
  },
  risk: 'low',
  verdicts: [],
  grounds,
  bindingSha256: sha,
  approvers: [],
  scopes: ['once'],
  expiresAt: '2030-01-01T00:00:00.000Z',
});
export const allowed = (intent: string, pool = 'fs'): EventInput<'tool.approval.allowed'> => ({
  invocation: {
    intent,
    tool: 'read_file',
    toolDigest: sha,
    pool,
    input: {},
    inputSha256: sha,
    workspace: '/w',
    sandbox: { levels: ['A'], writable: false, network: false },
    budgets: { timeoutMs: 1000, outputBytes: 1000 },
    baselines: [],
    resumePolicy: 'never-rerun',
    expiresAt: '2030-01-01T00:00:00.000Z',
  },
  by: { kind: 'rule', layer: 'default', rule: 'r' },
  verdicts: [],
  grounds,
});
export const started = (pool = 'fs'): EventInput<'tool.execution.started'> => ({
  pool,
  worker: 'w',
  epoch: 1,
  leaseUntil: '2030-01-01T00:00:00.000Z',
  cwd: '/w',
  envNames: [],
  sandboxLevel: 'A',
  limits: { timeoutMs: 1000, outputBytes: 1000 },
});
export const completed = (
  claimSeq: number,
  text = 'ok',
  pool = 'fs',
): EventInput<'tool.execution.completed'> => ({
  pool,
  tool: 'read_file',
  outcome: 'success',
  worker: 'w',
  claimSeq,
  epoch: 1,
  sandboxLevel: 'A',
  exitCode: null,
  signal: null,
  durationMs: 1,
  output: [{ channel: 'content', text, omittedBytes: 0 }],
  artifacts: [],
  effects: { files: [], scope: 'none', excluded: [] },
  network: [],
  reads: [],
});
export const observation = (): EventInput<'tool.observation'> => ({
  tool: 'read_file',
  ending: 'success',
  isError: false,
  parts: [{ label: 'untrusted', text: 'ok' }],
  omittedBytes: 0,
  artifacts: [],
});
export const validated = (): EventInput<'tool.validated'> => ({
  tool: 'read_file',
  pool: 'fs',
  toolDigest: sha,
  input: {},
  inputSha256: sha,
  changes: [],
  assessment: {
    effects: ['read-only'],
    paths: [],
    hosts: [],
    commands: [],
    confidence: 'certain',
    summary: 'reads',
  },
  baselines: [],
  sandboxLevel: 'A',
});

export interface Story {
  readonly session: string;
  /** Appends on the lane of the type, at its tail; as `service`, default who may. Returns the sequence. */
  say<Type extends EventType>(type: Type, data: EventInput<Type>, more?: SayOptions): Promise<number>;
  /** The session as a reader folds it who checks no signature. */
  state(): Promise<ConversationState>;
  /** Opens the session, starts a run, and has the model call `intents`. */
  callTools(...intents: string[]): Promise<void>;
}
export interface SayOptions {
  readonly intent?: string;
  readonly pool?: string;
  readonly turn?: number;
  /** Whose name and key. */
  readonly as?: string;
}

function nameOf(role: Role | undefined, pool: string | undefined): string {
  if (role === 'executor') return `executor-${pool}`;
  return role === 'client' ? 'client-ada' : (role ?? '');
}

export function tellStory(house: TestHouse, bus: Bus, session: string, tenant = 'local'): Story {
  const run = 'run1';
  const state: Story['state'] = async () => {
    const entries = await readRange(bus, {
      filter: sessionFilter(tenant, session),
      fromSeq: 1,
      leader: true,
    });
    return entries.reduce(evolve, initialState(tenant, session));
  };
  const say: Story['say'] = async (type, data, { intent, pool, turn, as } = {}) => {
    const { lane, appendedBy } = EVENTS[type];
    const role = appendedBy[0];
    const writer = house.writer(as ?? nameOf(role, pool));
    if (lane === 'u') return (await appendInbox(bus, writer, { tenant, session }, { type, data })).seq;
    const before = await state();
    const address: LaneAddress = { tenant, session, lane, intent };
    const tail = lane === 's' ? before.journal.tail : tailOf(before, intent ?? '');
    const result = await append(bus, writer, { ...address, pool }, tail, { type, data, run, turn });
    if (!result.ok) throw new Error(`conflict: ${type}`);
    return result.entry.seq;
  };
  return {
    session,
    say,
    state,
    async callTools(...intents) {
      await say('session.opened', {
        workspace: '/w',
        mode: 'normal',
        model: { provider: 'scripted', model: 'm' },
        person: 'ada',
      });
      await say('user.message', { text: 'read it', person: 'ada' });
      await say('run.started', { number: 1 });
      const requested: EventInput<'model.requested'> = {
        provider: 'scripted',
        model: 'm',
        contextSnapshotId: sha,
        throughSeq: (await state()).throughSeq,
        projection: 'p1',
        tools: [],
        because: 'next_turn',
        budgetLeft: { turns: null, tokens: null, costUsd: null },
      };
      await say('model.requested', requested, { turn: 1 });
      await say(
        'model.attempt.started',
        { attempt: 1, worker: 'w', provider: 'scripted', model: 'm' },
        { turn: 1 },
      );
      await say(
        'model.message',
        {
          attempt: 1,
          provider: 'scripted',
          model: 'm',
          contextSnapshotId: sha,
          parts: intents.map((intent) => ({
            type: 'tool_call' as const,
            intent,
            tool: 'read_file',
            rawInput: {},
            inputFormat: 'json' as const,
            providerRef: intent,
          })),
          stop: 'tool_calls',
          nativeStop: null,
          usage: null,
          costUsd: null,
          latencyMs: 1,
          requestId: null,
        },
        { turn: 1 },
      );
      for (const intent of intents) {
        const data = { tool: 'read_file', rawInput: {}, inputFormat: 'json', proposer: 'model' } as const;
        await say('tool.intent', data, { intent });
      }
    },
  };
}
