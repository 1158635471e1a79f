/** A real server with the streams that the gateway needs, a writer for everyone else's part, and gateways to start. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ACK_WAIT_MS,
  ALL_EVENTS,
  type ConversationState,
  DURABLES,
  type EventInput,
  type EventType,
  evolve,
  fold,
  initialState,
  isEvent,
  type LaneAddress,
  type LaneTail,
  type LogEntry,
  type ModelChoice,
  PROJECTION,
  projectContext,
  STREAMS,
  type StoredEvent,
  type StoredEventOf,
  sessionFilter,
  tailOf,
  type VisibleTool,
} from '@interlock/contracts';
import {
  append,
  appendInbox,
  type Bus,
  connectBus,
  contextSnapshotId,
  createLogger,
  ensureKeys,
  type HousedService,
  type Logger,
  putArtifact,
  readRange,
  startInProcess,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import { type NatsHandle, startNats } from '../../../test/harness/nats.ts';
import { startProviderGateway } from '../src/index.ts';

export const TENANT = 'local';
const quiet = createLogger({ level: 'silent' });
const writer: Writer = { service: 'test', instance: 't1', clock: systemClock, ids: systemIds };

export interface TestHouse {
  readonly nats: NatsHandle;
  readonly bus: Bus;
  readonly keysDir: string;
  gateway(env?: Record<string, string>, logger?: Logger): Promise<HousedService>;
  session(model: Omit<ModelChoice, 'script'>, script?: unknown): Promise<Session>;
  /** Makes the durable anew: everything is delivered once more. */
  deliverAgain(ackWaitMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startHouse(ackWaitMs: number = ACK_WAIT_MS): Promise<TestHouse> {
  const nats = await startNats();
  const keysDir = await mkdtemp(join(tmpdir(), 'gateway-keys-'));
  await ensureKeys(keysDir, ['provider-gateway']);
  const bus = await connectBus({ url: nats.url, name: 'test/1', logger: quiet });
  const manager = await bus.js.jetstreamManager();
  const stream = { allow_direct: true } as const;
  await manager.streams.add({ ...stream, name: STREAMS.events, subjects: [ALL_EVENTS] });
  await manager.streams.add({ ...stream, name: STREAMS.blob, subjects: ['blob.v1.>'] });
  await manager.streams.add({ ...stream, name: STREAMS.live, subjects: ['live.v1.>'] });
  const durable = DURABLES['provider-gateway'];
  const provision = (waitMs: number): Promise<unknown> =>
    manager.consumers.add(durable.stream, {
      durable_name: durable.name,
      ack_policy: 'explicit',
      ack_wait: waitMs * 1e6,
      filter_subjects: [...durable.filters],
    });
  await provision(ackWaitMs);
  const running: HousedService[] = [];
  return {
    nats,
    bus,
    keysDir,
    async gateway(env = {}, logger = quiet) {
      const settings = { INTERLOCK_MODEL_BACKOFF_MS: '20', INTERLOCK_MODEL_STOP_GRACE_MS: '50', ...env };
      const shared = { url: nats.url, keysDir, logger, env: settings };
      const service = await startInProcess('provider-gateway', startProviderGateway, shared);
      running.push(service);
      return service;
    },
    session: (model, script) => openSession(bus, model, script),
    async deliverAgain(waitMs = ackWaitMs) {
      await manager.consumers.delete(durable.stream, durable.name);
      await provision(waitMs);
    },
    async stop() {
      await Promise.all(running.map((service) => service.stop()));
      await bus.drain();
      await nats.stop();
      await rm(keysDir, { recursive: true });
    },
  };
}

/** One session, as its client and the observer would write it. */
export interface Session {
  readonly id: string;
  /** All events so far. */
  events(): Promise<StoredEvent[]>;
  /** Events of a type so far. */
  of<Type extends EventType>(type: Type): Promise<StoredEventOf<Type>[]>;
  say(text: string): Promise<void>;
  cancel(): Promise<void>;
  startRun(number?: number): Promise<void>;
  /** Asks the model: the turn is the next one of the run. */
  ask(overrides?: Partial<EventInput<'model.requested'>>): Promise<StoredEventOf<'model.requested'>>;
  append<Type extends EventType>(type: Type, data: EventInput<Type>, intent?: string): Promise<StoredEvent>;
  /** Waits until the log holds so many events of a type, and gives them. */
  until<Type extends EventType>(type: Type, count?: number): Promise<StoredEventOf<Type>[]>;
}

let sessions = 0;

async function openSession(bus: Bus, model: Omit<ModelChoice, 'script'>, script: unknown): Promise<Session> {
  sessions += 1;
  const id = `session-${process.pid}-${sessions}`;
  const text = typeof script === 'string' ? script : JSON.stringify(script ?? null);
  const artifact =
    script === undefined ? null : await putArtifact(bus, TENANT, text, { mediaType: 'application/json' });
  const session = sessionOf(bus, id, { ...model, ...(artifact ? { script: artifact.uri } : {}) });
  const choice = artifact ? { ...model, script: artifact.uri } : model;
  const opened = { workspace: '/work', mode: 'normal', model: choice, person: 'ada' } as const;
  await appendInbox(bus, writer, { tenant: TENANT, session: id }, { type: 'session.opened', data: opened });
  await session.say('go');
  await session.startRun();
  return session;
}

function sessionOf(bus: Bus, id: string, model: ModelChoice): Session {
  const at = { tenant: TENANT, session: id };
  const read = async (): Promise<LogEntry[]> =>
    readRange(bus, { filter: sessionFilter(TENANT, id), fromSeq: 1, leader: true });
  const session: Session = {
    id,
    async events() {
      return (await read()).filter((entry) => entry.type !== 'unreadable');
    },
    async of(type) {
      return (await read()).filter((entry) => isEvent(entry, type)) as never;
    },
    async say(text) {
      await appendInbox(bus, writer, at, { type: 'user.message', data: { text, person: 'ada' } });
    },
    async cancel() {
      await appendInbox(bus, writer, at, { type: 'run.cancel', data: { reason: 'person', by: 'ada' } });
    },
    async startRun(number = 1) {
      await session.append('run.started', { number });
    },
    async ask(overrides = {}) {
      const state = fold(initialState(TENANT, id), await read());
      const tools: VisibleTool[] = overrides.tools ?? [];
      const { throughSeq } = state;
      const requested = await session.append('model.requested', {
        provider: model.provider,
        model: model.model,
        contextSnapshotId: contextSnapshotId(projectContext(state, { throughSeq, tools })),
        throughSeq,
        projection: PROJECTION,
        tools,
        because: 'next_turn',
        budgetLeft: { turns: null, tokens: null, costUsd: null },
        ...overrides,
      });
      return requested as StoredEventOf<'model.requested'>;
    },
    async append(type, data, intent) {
      for (;;) {
        const state = fold(initialState(TENANT, id), await read());
        const place = placeOf(state, at, intent);
        const draft = { type, data, run: state.run?.id ?? systemIds.ulid(), turn: turnOf(state, type) };
        const result = await append(bus, writer, place.lane, place.tail, draft);
        if (!result.ok) continue;
        if (evolve(state, result.entry).skipped > state.skipped) throw new Error(`${type} is not legal here`);
        return result.entry;
      }
    },
    async until(type, count = 1) {
      const deadline = performance.now() + 15_000;
      for (;;) {
        const found = await session.of(type);
        if (found.length >= count) return found;
        if (performance.now() > deadline) {
          throw new Error(
            `no ${count} ${type}; the log holds ${(await session.events()).map((e) => e.type).join(', ')}`,
          );
        }
        await sleep(10);
      }
    },
  };
  return session;
}

function turnOf(state: ConversationState, type: EventType): number | undefined {
  return type === 'model.requested' ? (state.run?.turn ?? 0) + 1 : state.run?.turn || undefined;
}

function placeOf(
  state: ConversationState,
  at: { readonly tenant: string; readonly session: string },
  intent: string | undefined,
): { readonly lane: LaneAddress; readonly tail: LaneTail } {
  if (intent === undefined) return { lane: { ...at, lane: 's' }, tail: state.journal.tail };
  return { lane: { ...at, lane: 'i', intent }, tail: tailOf(state, intent) };
}

/** Types of events, in order, from a type on. */
export function typesFrom(events: readonly StoredEvent[], first: EventType): string[] {
  const at = events.findIndex(({ type }) => type === first);
  return events.slice(at).map(({ type }) => type);
}

/** Waits for a state, never for a time. */
export async function until(what: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await what())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(10);
  }
}
