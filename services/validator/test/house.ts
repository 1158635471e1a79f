/** A real server with the streams and the durable of the validator, and hands to play everybody else. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ALL_EVENTS,
  DURABLES,
  type EventType,
  type LaneAddress,
  type LogEntry,
  type Mode,
  type PreflightReplyV1,
  type PreflightRequestV1,
  rpcSubject,
  STREAMS,
  type StoredEventOf,
  sessionFilter,
  type ToolDefinition,
} from '@interlock/contracts';
import {
  type AnyDraft,
  appendInbox,
  appendSettled,
  type Bus,
  connectBus,
  createLogger,
  ensureKeys,
  type HousedService,
  type LoadedKeys,
  readRange,
  serveRpc,
  startInProcess,
  systemClock,
  systemIds,
} from '@interlock/kit';
import { type NatsHandle, startNats } from '../../../test/harness/nats.ts';
import { startValidator } from '../src/index.ts';
import { digestOf, readFile, secretTool, WORKSPACE, writeFile } from './samples.ts';

export interface House {
  readonly nats: NatsHandle;
  readonly bus: Bus;
  readonly keys: LoadedKeys;
  validator(env?: Record<string, string>): Promise<HousedService>;
  /** Serves the preflight of the pool `fs`. */
  pool(reply: (request: PreflightRequestV1) => PreflightReplyV1 | Promise<PreflightReplyV1>): {
    stop(): Promise<void>;
  };
  stop(): Promise<void>;
}

const quiet = createLogger({ service: 'test', instance: 'test', level: 'silent' });

export async function startHouse(): Promise<House> {
  const nats = await startNats();
  const keysDir = await mkdtemp(join(tmpdir(), 'interlock-keys-'));
  const keys = await ensureKeys(keysDir, [
    'validator',
    'observer',
    'provider-gateway',
    'event-store',
    'policy-engine',
  ]);
  const bus = await connectBus({ url: nats.url, name: 'test/1', logger: quiet });
  await provision(bus);
  const started: HousedService[] = [];
  const house: House = {
    nats,
    bus,
    keys,
    async validator(env = {}) {
      const shared = {
        url: nats.url,
        keysDir,
        logger: quiet,
        env: { INTERLOCK_PREFLIGHT_RETRY_MS: '20', ...env },
      };
      const service = await startInProcess('validator', startValidator, shared);
      started.push(service);
      await until(() => service.ready());
      return service;
    },
    pool: (reply) =>
      serveRpc(bus, {
        subject: rpcSubject.preflight('*', 'fs'),
        queue: 'fs',
        rpc: 'preflight',
        handle: async (request) => reply(request),
      }),
    async stop() {
      await Promise.all(started.map((service) => service.stop()));
      await bus.drain();
      await nats.stop();
      await rm(keysDir, { recursive: true, force: true });
    },
  };
  const registry = { tenant: '-', session: 'sys', lane: 'sys' } as const;
  for (const definition of [readFile, writeFile, secretTool]) {
    const data = { digest: digestOf(definition), definition };
    await put(house, 'event-store', registry, { type: 'tool.registered', data });
  }
  return house;
}

async function provision(bus: Bus): Promise<void> {
  const common = { storage: 'file', num_replicas: 1, allow_direct: true };
  const streams = [
    { ...common, name: STREAMS.events, subjects: [ALL_EVENTS], allow_atomic: true, deny_delete: true },
    { ...common, name: STREAMS.blob, subjects: ['blob.v1.>'] },
  ];
  for (const config of streams) await ask(bus, `STREAM.CREATE.${config.name}`, config);
  await provisionDurable(bus);
}

export async function provisionDurable(bus: Bus): Promise<void> {
  const { name, stream, filters } = DURABLES.validator;
  await ask(bus, `CONSUMER.CREATE.${stream}.${name}`, {
    stream_name: stream,
    action: '',
    config: {
      durable_name: name,
      name,
      ack_policy: 'explicit',
      ack_wait: 30e9,
      deliver_policy: 'all',
      filter_subjects: filters,
    },
  });
}

async function ask(bus: Bus, call: string, body: unknown): Promise<void> {
  const reply = await bus.request(`$JS.API.${call}`, JSON.stringify(body), { timeoutMs: 5000 });
  const { error } = reply.json<{ error?: { description: string } }>();
  if (error) throw new Error(`${call}: ${error.description}`);
}

/** Appends to a journal at its present end, as the given service. */
export async function put(
  { bus, keys }: Pick<House, 'bus' | 'keys'>,
  service: string,
  lane: LaneAddress,
  draft: AnyDraft,
): Promise<LogEntry> {
  const writer = {
    service,
    instance: 'test',
    signer: keys.signers.get(service),
    clock: systemClock,
    ids: systemIds,
  };
  const appended = await appendSettled(bus, writer, lane, () => ({ draft }));
  if (!appended.ok) throw new Error(`not appended: ${draft.type}`);
  return appended.entry;
}

export interface Call {
  readonly tool: string;
  readonly input: unknown;
  /** The arguments came as text that is not JSON. */
  readonly text?: true;
}

export interface Turn {
  readonly session: string;
  readonly intents: readonly string[];
  /** Appends the intents of these calls, in this order. */
  derive(...indexes: number[]): Promise<void>;
  /** Ends a call and observes it. */
  observe(index: number): Promise<void>;
  /** The validator's word on a call. */
  verdict(index: number): Promise<StoredEventOf<'tool.validated'> | StoredEventOf<'tool.validation_failed'>>;
  /** What the validator said so far, by index. */
  verdicts(): Promise<readonly number[]>;
}

let sessions = 0;
const SNAPSHOT = 'c'.repeat(64);

/** A session whose model made these calls in one turn; no intent is derived yet. */
export async function turnOf(
  house: House,
  calls: readonly Call[],
  options: {
    readonly mode?: Mode;
    readonly budgets?: { maxTokens?: number };
    readonly tools?: readonly ToolDefinition[];
  } = {},
): Promise<Turn> {
  const { bus } = house;
  const session = `v${process.pid}-${++sessions}`;
  const at = { tenant: 'local', session };
  const client = { service: 'client', instance: 'test', clock: systemClock, ids: systemIds };
  await appendInbox(bus, client, at, {
    type: 'session.opened',
    data: {
      workspace: WORKSPACE,
      mode: options.mode ?? 'normal',
      model: { provider: 'scripted', model: 'script' },
      budgets: options.budgets ?? {},
      person: 'ada',
    },
  });
  await appendInbox(bus, client, at, { type: 'user.message', data: { text: 'do it', person: 'ada' } });
  const journal = { ...at, lane: 's' } as const;
  const turn = { run: `run-${session}`, turn: 1 };
  const say = (service: string, draft: AnyDraft) => put(house, service, journal, { ...turn, ...draft });
  await say('observer', { type: 'run.started', data: { number: 1 } });
  await say('observer', {
    type: 'model.requested',
    data: {
      provider: 'scripted',
      model: 'script',
      contextSnapshotId: SNAPSHOT,
      throughSeq: 1,
      projection: 'p1',
      tools: (options.tools ?? [readFile, writeFile]).map((tool) => ({
        name: tool.name,
        digest: digestOf(tool),
        pool: tool.pool,
        readOnly: tool.readOnly,
      })),
      because: 'next_turn',
      budgetLeft: { turns: null, tokens: null, costUsd: null },
    },
  });
  await say('provider-gateway', {
    type: 'model.attempt.started',
    data: { attempt: 1, worker: 'w', provider: 'scripted', model: 'script' },
  });
  const intents = calls.map((_, index) => `${session}-${index + 1}`);
  const proposals = calls.map(({ tool, input, text }) => ({
    tool,
    rawInput: input,
    inputFormat: text ? ('text' as const) : ('json' as const),
  }));
  await say('provider-gateway', {
    type: 'model.message',
    data: {
      attempt: 1,
      provider: 'scripted',
      model: 'script',
      contextSnapshotId: SNAPSHOT,
      parts: proposals.map((proposal, index) => ({
        type: 'tool_call' as const,
        intent: intents[index] ?? '',
        ...proposal,
        providerRef: `p${index}`,
      })),
      stop: 'tool_calls',
      nativeStop: null,
      usage: { inputUncached: 900, cacheRead: 0, cacheWrite: 0, output: 100, reasoning: null },
      costUsd: null,
      latencyMs: 1,
      requestId: null,
    },
  });
  const laneOf = (index: number) => ({ ...at, lane: 'i', intent: intents[index] }) as const;
  const wordsOn = async (index: number) =>
    (await entriesOf(house, session)).find(
      (entry): entry is StoredEventOf<'tool.validated'> | StoredEventOf<'tool.validation_failed'> =>
        (entry.type === 'tool.validated' || entry.type === 'tool.validation_failed') &&
        entry.envelope.intent === intents[index],
    );
  return {
    session,
    intents,
    async derive(...indexes) {
      for (const index of indexes) {
        const proposal = proposals[index];
        if (!proposal) throw new Error(`no call ${index}`);
        await put(house, 'provider-gateway', laneOf(index), {
          ...turn,
          type: 'tool.intent',
          data: { ...proposal, proposer: 'model' },
        });
      }
    },
    async observe(index) {
      const observed = {
        tool: 'x',
        ending: 'cancelled',
        isError: true,
        parts: [],
        omittedBytes: 0,
        artifacts: [],
      } as const;
      await put(house, 'observer', laneOf(index), {
        ...turn,
        type: 'tool.cancelled',
        data: { reason: 'expired' },
      }).catch(() => undefined);
      await put(house, 'observer', laneOf(index), {
        ...turn,
        type: 'tool.observation',
        data: { ...observed, parts: [], artifacts: [] },
      });
    },
    async verdict(index) {
      let found: Awaited<ReturnType<typeof wordsOn>>;
      await until(async () => {
        found = await wordsOn(index);
        return found !== undefined;
      });
      if (!found) throw new Error('no verdict');
      return found;
    },
    async verdicts() {
      const entries = await entriesOf(house, session);
      return entries.flatMap((entry) =>
        entry.type === 'tool.validated' || entry.type === 'tool.validation_failed'
          ? [intents.indexOf(entry.envelope.intent ?? '')]
          : [],
      );
    },
  };
}

/** All of a session. */
export function entriesOf({ bus }: House, session: string): Promise<LogEntry[]> {
  return readRange(bus, { filter: sessionFilter('local', session), fromSeq: 1, leader: true });
}

export function ofType<Type extends EventType>(
  entries: readonly LogEntry[],
  type: Type,
): readonly StoredEventOf<Type>[] {
  return entries.filter((entry) => entry.type === type) as unknown as StoredEventOf<Type>[];
}

/** Waits for a state, never for a time. */
export async function until(what: () => boolean | Promise<boolean>, limitMs = 15_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await what())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Nothing is pending or unacknowledged. */
export async function settled({ bus }: House): Promise<void> {
  const { name, stream } = DURABLES.validator;
  await until(async () => {
    const info = await bus.request(`$JS.API.CONSUMER.INFO.${stream}.${name}`, '', { timeoutMs: 5000 });
    const { num_pending, num_ack_pending } = info.json<{ num_pending: number; num_ack_pending: number }>();
    return num_pending === 0 && num_ack_pending === 0;
  });
}
