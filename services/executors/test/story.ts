/** One session with calls, each taken to its permit by the hands of the house. */
import {
  type Baseline,
  type ConversationState,
  callOf,
  type EventType,
  evolve,
  type Invocation,
  initialState,
  type LaneTail,
  type LogEntry,
  type StoredEventOf,
  type ToolDefinition,
  type ToolExecutionCompletedV1,
  tailOf,
} from '@interlock/contracts';
import { append, appendInbox, type EventDraft, hashOf } from '@interlock/kit';
import { createBash } from '../src/tools/bash.ts';
import { editFile } from '../src/tools/edit-file.ts';
import { grep } from '../src/tools/grep.ts';
import { readFile } from '../src/tools/read-file.ts';
import { definitionOf, type Tool } from '../src/tools/tool.ts';
import { writeFile } from '../src/tools/write-file.ts';
import { type House, until } from './house.ts';

const DEFINITIONS: ToolDefinition[] = [
  ...[readFile, editFile, writeFile, grep].map((tool) => definitionOf(tool, 'fs')),
  definitionOf(createBash(), 'shell'),
];

const sha = (digit: string): string => digit.repeat(64);
let sessions = 0;

export interface PermitOptions {
  readonly invocation?: Partial<Invocation>;
  readonly baselines?: readonly Baseline[];
  /** Who signs. Default the policy engine. */
  readonly signedBy?: string;
  /** Definition of a tool that is not built in. */
  readonly definition?: ToolDefinition;
  /** Appended between the permit and its claim, if given before an executor runs. */
  readonly stray?: boolean;
}

/** A session on a workspace. */
export class Story {
  readonly house: House;
  readonly session: string;
  readonly workspace: string;
  #calls = 0;

  private constructor(house: House, workspace: string) {
    sessions += 1;
    this.house = house;
    this.session = `story-${process.pid}-${sessions}`;
    this.workspace = workspace;
  }

  static async open(house: House, workspace: string): Promise<Story> {
    const story = new Story(house, workspace);
    const { bus } = house;
    const client = house.writer('client');
    const at = { tenant: 'local', session: story.session };
    const model = { provider: 'scripted', model: 'script' };
    await appendInbox(bus, client, at, {
      type: 'session.opened',
      data: { workspace, mode: 'auto-edit', model, person: 'ada' },
    });
    await appendInbox(bus, client, at, { type: 'user.message', data: { text: 'go', person: 'ada' } });
    return story;
  }

  async state(): Promise<ConversationState> {
    let state = initialState('local', this.session);
    for (const entry of await this.house.entries(this.session)) state = evolve(state, entry);
    return state;
  }

  /** Takes calls of one turn to their permits. Returns their intents. */
  async permits(
    calls: readonly { tool: string; input: unknown; options?: PermitOptions }[],
  ): Promise<string[]> {
    const intents = calls.map(() => {
      this.#calls += 1;
      return `call-${this.#calls}`;
    });
    await this.#turn(calls, intents);
    await Promise.all(calls.map((call, index) => this.#permit(intents[index] ?? '', call)));
    return intents;
  }

  /** Takes one call to its permit. Returns its intent. */
  async permit(tool: string, input: unknown, options: PermitOptions = {}): Promise<string> {
    const [intent = ''] = await this.permits([{ tool, input, options }]);
    return intent;
  }

  async #turn(calls: readonly { tool: string; input: unknown }[], intents: readonly string[]): Promise<void> {
    const state = await this.state();
    let tail = state.journal.tail;
    let run = state.run?.id;
    if (run === undefined) {
      run = this.house.writer('observer').ids.ulid();
      tail = await this.#journal('observer', tail, { type: 'run.started', data: { number: 1 }, run });
    }
    const turn = (state.run?.turn ?? 0) + 1;
    const throughSeq = state.throughSeq;
    tail = await this.#journal('observer', tail, {
      type: 'model.requested',
      data: {
        ...{
          provider: 'scripted',
          model: 'script',
          contextSnapshotId: sha('5'),
          throughSeq,
          projection: 'p1',
        },
        ...{ tools: [], because: 'next_turn', budgetLeft: { turns: null, tokens: null, costUsd: null } },
      },
      ...{ run, turn },
    });
    const attempt = { attempt: 1, provider: 'scripted', model: 'script' };
    tail = await this.#journal('provider-gateway', tail, {
      type: 'model.attempt.started',
      data: { ...attempt, worker: 'w' },
      ...{ run, turn },
    });
    const parts = calls.map(({ tool, input }, index) => ({
      ...{ type: 'tool_call' as const, intent: intents[index] ?? '', tool, rawInput: input },
      ...{ inputFormat: 'json' as const, providerRef: `ref-${index}` },
    }));
    await this.#journal('provider-gateway', tail, {
      type: 'model.message',
      data: {
        ...{ ...attempt, contextSnapshotId: sha('5'), parts, stop: 'tool_calls', nativeStop: null },
        ...{ usage: null, costUsd: null, latencyMs: 1, requestId: null },
      },
      ...{ run, turn },
    });
  }

  async #journal<Type extends EventType>(
    writer: string,
    tail: LaneTail,
    draft: EventDraft<Type>,
  ): Promise<LaneTail> {
    const lane = { tenant: 'local', session: this.session, lane: 's' } as const;
    const appended = await append(this.house.bus, this.house.writer(writer), lane, tail, draft);
    if (!appended.ok) throw new Error(`${draft.type}: conflict`);
    return appended.tail;
  }

  /** Appends to the lane of an intent, at its tail. */
  async step<Type extends EventType>(
    writer: string,
    intent: string,
    draft: EventDraft<Type>,
    pool?: string,
  ): Promise<LaneTail> {
    const lane = { tenant: 'local', session: this.session, lane: 'i', intent, pool } as const;
    for (;;) {
      const tail = tailOf(await this.state(), intent);
      const appended = await append(this.house.bus, this.house.writer(writer), lane, tail, draft);
      if (appended.ok) return appended.tail;
    }
  }

  async #permit(
    intent: string,
    call: { tool: string; input: unknown; options?: PermitOptions },
  ): Promise<void> {
    const { tool, input, options = {} } = call;
    const definition = options.definition ?? DEFINITIONS.find(({ name }) => name === tool);
    if (!definition) throw new Error(`no definition of ${tool}`);
    await this.step('provider-gateway', intent, {
      type: 'tool.intent',
      data: { tool, rawInput: input, inputFormat: 'json', proposer: 'model' },
    });
    const base = {
      tool,
      pool: definition.pool,
      toolDigest: hashOf(definition),
      input,
      inputSha256: hashOf(input),
    };
    const baselines = [...(options.baselines ?? [])];
    const assessment = {
      effects: ['unknown' as const],
      paths: [],
      hosts: [],
      commands: [],
      confidence: 'unknown' as const,
      summary: '',
    };
    await this.step('validator', intent, {
      type: 'tool.validated',
      data: { ...base, changes: [], assessment, baselines, sandboxLevel: 'A' },
    });
    const invocation: Invocation = {
      ...base,
      intent,
      workspace: this.workspace,
      sandbox: { levels: ['A'], writable: true, network: false },
      budgets: definition.budgets,
      baselines,
      resumePolicy: definition.resumePolicy,
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
      ...options.invocation,
    };
    const grounds = {
      ...{ inputSha256: base.inputSha256, policyDigest: sha('2'), baselinesSha256: sha('3') },
      ...{ sandboxLevel: 'A' as const, registrySeq: 1 },
    };
    await this.step(
      options.signedBy ?? 'policy-engine',
      intent,
      {
        type: 'tool.approval.allowed',
        data: { invocation, by: { kind: 'rule', layer: 'default', rule: 'test' }, verdicts: [], grounds },
      },
      invocation.pool,
    );
    if (options.stray) await this.stray(intent);
  }

  /** Something on the lane that follows from nothing. */
  async stray(intent: string): Promise<void> {
    await this.step('validator', intent, {
      type: 'tool.validation_failed',
      data: { errors: [{ path: '', code: 'unknown_tool', message: 'stray', advice: 'none' }] },
    });
  }

  /** Types on the lane of an intent, in order. */
  async lane(intent: string): Promise<LogEntry[]> {
    return (await this.house.entries(this.session)).filter(
      (entry) => entry.type !== 'unreadable' && entry.envelope.intent === intent,
    );
  }

  async ofType<Type extends EventType>(intent: string, type: Type): Promise<StoredEventOf<Type>[]> {
    return (await this.house.entries(this.session)).filter(
      (entry): entry is LogEntry & StoredEventOf<Type> =>
        entry.type === type &&
        (entry.envelope.intent === intent || (entry.data as { intent?: string }).intent === intent),
    );
  }

  /** Waits for the fact of a call: the one that counts. */
  fact(intent: string, limitMs?: number): Promise<ToolExecutionCompletedV1> {
    return until(async () => {
      const call = callOf(await this.state(), intent);
      if (call?.stage !== 'completed' && call?.stage !== 'observed') return null;
      const facts = await this.ofType(intent, 'tool.execution.completed');
      return facts.find(({ seq }) => seq === call.step?.seq)?.data ?? facts.at(-1)?.data ?? null;
    }, limitMs);
  }

  /** Waits for the claim of a call. */
  claim(intent: string): Promise<StoredEventOf<'tool.execution.started'>> {
    return until(async () => (await this.ofType(intent, 'tool.execution.started')).at(-1) ?? null);
  }
}

/** A tool of the pool `test`, made for one test. */
export const definitionFor = (tool: Tool): ToolDefinition => definitionOf(tool, 'test');
