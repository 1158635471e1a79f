/** Sessions in memory, for the pure core: events chained and placed as the stream would. */
import {
  type Budgets,
  EMPTY_LANE,
  EVENTS,
  type EventData,
  type EventType,
  eventSubject,
  type LaneTail,
  type LogEntry,
  laneFilter,
  type Mode,
  type StoredEventOf,
  type ToolDefinition,
  toDataSchemaUri,
} from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { evolve, initialState, type ValidatorState } from '../src/state.ts';
import { digestOf, readFile, WORKSPACE, writeFile } from './samples.ts';

export interface Story {
  append<Type extends EventType>(type: Type, data: EventData<Type>, intent?: string): StoredEventOf<Type>;
  /** The intents that the model's calls become. */
  derive(...intents: string[]): void;
  observe(intent: string): void;
  state(): ValidatorState;
}

export interface StoryOptions {
  readonly mode?: Mode;
  readonly budgets?: Budgets;
  readonly tools?: readonly ToolDefinition[];
}

const RUN = 'run1';
const SNAPSHOT = 'c'.repeat(64);

/** A session whose model called these tools, by intents `i1`, `i2`, …; none is derived yet. */
export function called(tools: readonly string[], options: StoryOptions = {}): Story {
  const entries: LogEntry[] = [];
  const tails = new Map<string, LaneTail>();
  const append: Story['append'] = (type, data, intent) => {
    const { lane } = EVENTS[type];
    const place = { tenant: 'local', session: 's1', lane, intent };
    const seq = entries.length + 1;
    const tail = tails.get(laneFilter(place)) ?? EMPTY_LANE;
    const subject = eventSubject({ ...place, type });
    const hash = sha256Hex(String(seq));
    const envelope = {
      specversion: '1.0',
      id: `01J${String(seq).padStart(23, '0')}`,
      type,
      source: 'interlock/test/1',
      time: new Date(Date.UTC(2026, 10, 30, 12, 0, seq)).toISOString(),
      subject,
      datacontenttype: 'application/json',
      dataschema: toDataSchemaUri(type, 1),
      tenant: 'local',
      session: 's1',
      ...(lane === 'u' ? {} : { run: RUN, turn: 1, prevseq: tail.seq, prevhash: tail.hash }),
      ...(intent === undefined ? {} : { intent }),
      correlationid: 's1',
      nonce: `nonce-${seq}`,
      data,
    };
    tails.set(laneFilter(place), { seq, hash });
    const entry = { type, seq, hash, subject, data, envelope, authenticity: 'unchecked' };
    entries.push(entry as unknown as LogEntry);
    return entry as unknown as StoredEventOf<typeof type>;
  };
  open(append, tools, options);
  return {
    append,
    derive(...intents) {
      for (const intent of intents) {
        const tool = tools[Number(intent.slice(1)) - 1] ?? '';
        append(
          'tool.intent',
          { tool, rawInput: { path: 'a' }, inputFormat: 'json', proposer: 'model' },
          intent,
        );
      }
    },
    observe(intent) {
      append('tool.validation_failed', { errors: [ERROR] }, intent);
      append('tool.observation', OBSERVATION, intent);
    },
    state: () => entries.reduce(evolve, initialState('local', 's1')),
  };
}

const ERROR = { path: '', code: 'schema_mismatch', message: 'no', advice: 'no' } as const;
const OBSERVATION: EventData<'tool.observation'> = {
  tool: 'x',
  ending: 'invalid',
  isError: true,
  parts: [],
  omittedBytes: 0,
  artifacts: [],
};

function open(append: Story['append'], tools: readonly string[], options: StoryOptions): void {
  const { mode = 'normal', budgets = {}, tools: shown = [readFile, writeFile] } = options;
  append('session.opened', {
    workspace: WORKSPACE,
    mode,
    model: { provider: 'scripted', model: 'script' },
    policies: {},
    budgets,
    person: 'ada',
  });
  append('user.message', { text: 'do it', attachments: [], person: 'ada' });
  append('run.started', { number: 1 });
  append('model.requested', {
    provider: 'scripted',
    model: 'script',
    contextSnapshotId: SNAPSHOT,
    throughSeq: 3,
    projection: 'p1',
    tools: shown.map((tool) => ({
      name: tool.name,
      digest: digestOf(tool),
      pool: tool.pool,
      readOnly: tool.readOnly,
    })),
    because: 'next_turn',
    budgetLeft: { turns: null, tokens: null, costUsd: null },
  });
  append('model.attempt.started', { attempt: 1, worker: 'w', provider: 'scripted', model: 'script' });
  append('model.message', {
    attempt: 1,
    provider: 'scripted',
    model: 'script',
    contextSnapshotId: SNAPSHOT,
    parts: tools.map((tool, index) => ({
      type: 'tool_call' as const,
      intent: `i${index + 1}`,
      tool,
      rawInput: { path: 'a' },
      inputFormat: 'json' as const,
      providerRef: `p${index}`,
    })),
    stop: 'tool_calls',
    nativeStop: null,
    usage: { inputUncached: 900, cacheRead: 0, cacheWrite: 0, output: 100, reasoning: null },
    costUsd: 0.5,
    latencyMs: 1,
    requestId: null,
  });
}
