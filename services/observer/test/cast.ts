/** One session of a real house, and everyone but the observer in it: people, gateway, validator, policy, executors. */
import {
  type CancelControlV1,
  type ConversationState,
  callOf,
  controlSubject,
  EMPTY_LANE,
  EVENTS,
  type EventInput,
  type EventType,
  evolve,
  fold,
  initialState,
  isEvent,
  judge,
  type LogEntry,
  type ModelPart,
  type Stage,
  type Stop,
  type StoredEventOf,
  SYSTEM_SESSION,
  sessionFilter,
  tailOf,
} from '@interlock/contracts';
import { sample, toolCall } from '@interlock/contracts/testing';
import {
  append,
  appendAtomic,
  appendInbox,
  readRange,
  type Signer,
  systemClock,
  systemIds,
  type Writer,
} from '@interlock/kit';
import { expect } from 'vitest';
import { type House, until } from './house.ts';

let sessions = 0;

export interface AppendAs {
  readonly intent?: string;
  readonly pool?: string;
  /** Whose key signs. Default: who may say this. */
  readonly signer?: Signer | undefined;
}

export class Cast {
  readonly tenant = 'local';
  readonly session = `session-${process.pid}-${++sessions}`;
  readonly controls: CancelControlV1[] = [];
  readonly #house: House;

  constructor(house: House) {
    this.#house = house;
    house.bus.nc.subscribe(controlSubject.cancel(this.tenant, this.session), {
      callback: (_, message) => void this.controls.push(message.json<CancelControlV1>()),
    });
  }

  async entries(): Promise<LogEntry[]> {
    const { bus, keys } = this.#house;
    const range = { filter: sessionFilter(this.tenant, this.session), fromSeq: 1, leader: true };
    return readRange(bus, range, { keys: keys.keyRing, types: 'all' });
  }

  async state(): Promise<ConversationState> {
    return fold(initialState(this.tenant, this.session), await this.entries());
  }

  /** Events of a type, in order. */
  async all<Type extends EventType>(type: Type): Promise<StoredEventOf<Type>[]> {
    return (await this.entries()).filter((entry) => isEvent(entry, type)) as unknown as StoredEventOf<Type>[];
  }

  /** Types in stream order, intents left out. */
  async types(): Promise<string[]> {
    return (await this.entries()).map(({ type }) => type);
  }

  /** Waits until the state is so. */
  async when(what: (state: ConversationState) => boolean, limitMs?: number): Promise<ConversationState> {
    let last: LogEntry[] = [];
    return until(
      async () => {
        last = await this.entries();
        const state = fold(initialState(this.tenant, this.session), last);
        return what(state) ? state : null;
      },
      () => `${what}\n${last.map(({ seq, subject }) => `${seq} ${subject}`).join('\n')}`,
      limitMs,
    );
  }

  #writer(type: EventType, given?: Signer): Writer {
    const { signers } = this.#house.keys;
    const [role = ''] = EVENTS[type].appendedBy;
    const signer = given ?? signers.get(role === 'executor' ? 'executor-fs' : role);
    return { service: role, instance: 'test', signer, clock: systemClock, ids: systemIds };
  }

  /** Says something in the inbox. */
  async say<Type extends EventType>(type: Type, data: EventInput<Type>): Promise<number> {
    const { seq } = await appendInbox(this.#house.bus, this.#writer(type), this, { type, data });
    return seq;
  }

  async open(data: Partial<EventInput<'session.opened'>> = {}): Promise<void> {
    await this.say('session.opened', sample('session.opened', data));
  }

  ask(text = 'do it'): Promise<number> {
    return this.say('user.message', sample('user.message', { text }));
  }

  cancel(): Promise<number> {
    return this.say('run.cancel', sample('run.cancel'));
  }

  /** Appends to a journal on its tail, again after a conflict. */
  async add<Type extends EventType>(
    type: Type,
    data: EventInput<Type>,
    as: AppendAs = {},
  ): Promise<LogEntry> {
    const { intent, pool = 'fs', signer } = as;
    for (;;) {
      const state = await this.state();
      const lane =
        intent === undefined
          ? { tenant: this.tenant, session: this.session, lane: EVENTS[type].lane }
          : { tenant: this.tenant, session: this.session, lane: 'i' as const, intent, pool };
      const tail = intent === undefined ? state.journal.tail : tailOf(state, intent);
      const draft = { type, data, run: state.run?.id, turn: state.run?.turn };
      const appended = await append(this.#house.bus, this.#writer(type, signer), lane, tail, draft);
      if (appended.ok) return appended.entry;
    }
  }

  /** Waits for the request of a turn, or of the next one there is. */
  async request(turn?: number): Promise<NonNullable<ConversationState['request']>> {
    const { request } = await this.when(
      (state) => state.request !== null && state.request.turn === (turn ?? state.request.turn),
    );
    if (!request) throw new Error('no request');
    return request;
  }

  /** The gateway answers the open request. */
  async answer(
    parts: ModelPart[],
    stop?: Stop,
    more: Partial<EventInput<'model.message'>> = {},
  ): Promise<void> {
    await this.request();
    await this.add('model.attempt.started', sample('model.attempt.started'));
    const byDefault = parts.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'end_turn';
    await this.add('model.message', sample('model.message', { parts, stop: stop ?? byDefault, ...more }));
  }

  /** The model makes these calls, each of which gets its intent. */
  async call(...intents: string[]): Promise<void> {
    await this.answer(intents.map((intent) => toolCall(intent)));
    for (const intent of intents) await this.take(intent, 'proposed');
  }

  /** Takes a call one step or several on, to a stage. */
  async take(intent: string, ...stages: Stage[]): Promise<void> {
    for (const stage of stages) await this.#step(intent, stage);
  }

  async #step(intent: string, stage: Stage): Promise<void> {
    const call = callOf(await this.state(), intent);
    const as = { intent };
    switch (stage) {
      case 'proposed':
        await this.add('tool.intent', sample('tool.intent', { tool: call?.tool ?? 'read_file' }), as);
        return;
      case 'validated':
        await this.add('tool.validated', sample('tool.validated'), as);
        return;
      case 'invalid':
        await this.add('tool.validation_failed', sample('tool.validation_failed'), as);
        return;
      case 'asked':
        await this.add('tool.approval.asked', sample('tool.approval.asked'), as);
        return;
      case 'denied':
        await this.add('tool.approval.denied', sample('tool.approval.denied'), as);
        return;
      case 'allowed':
        await this.allow(intent);
        return;
      case 'started':
        await this.claim(intent);
        return;
      case 'completed':
        await this.complete(intent);
        return;
      default:
        throw new Error(`${stage} is not for others than the observer`);
    }
  }

  async allow(intent: string, forMs = 60_000): Promise<void> {
    const { invocation, ...rest } = sample('tool.approval.allowed');
    const expiresAt = inMs(forMs);
    await this.add(
      'tool.approval.allowed',
      { ...rest, invocation: { ...invocation, intent, expiresAt } },
      { intent },
    );
  }

  async claim(intent: string, leaseMs = 30_000): Promise<void> {
    await this.add(
      'tool.execution.started',
      sample('tool.execution.started', { leaseUntil: inMs(leaseMs) }),
      { intent },
    );
  }

  async complete(
    intent: string,
    data: Partial<EventInput<'tool.execution.completed'>> = {},
    signer?: Signer,
  ): Promise<void> {
    const claimSeq = callOf(await this.state(), intent)?.claim?.seq ?? null;
    await this.add('tool.execution.completed', sample('tool.execution.completed', { claimSeq, ...data }), {
      intent,
      signer,
    });
  }

  /** Straight to the fact. */
  async run(intent: string): Promise<void> {
    await this.take(intent, 'validated', 'allowed', 'started', 'completed');
  }

  /** A person edits an ask: both lanes in one batch, as the policy engine does it. */
  async edit(intent: string, by: string): Promise<void> {
    const state = await this.state();
    const { run, turn } = callOf(state, intent) ?? {};
    const at = { run: run ?? undefined, turn: turn ?? undefined };
    const lane = { tenant: this.tenant, session: this.session, lane: 'i' } as const;
    const supersedes = { intent, answerId: 'answer', person: 'ada' };
    const result = await appendAtomic(this.#house.bus, this.#writer('tool.approval.denied'), [
      {
        lane: { ...lane, intent },
        tail: tailOf(state, intent),
        draft: {
          type: 'tool.approval.denied',
          data: sample('tool.approval.denied', { kind: 'superseded', by }),
          ...at,
        },
      },
      {
        lane: { ...lane, intent: by },
        tail: EMPTY_LANE,
        draft: {
          type: 'tool.intent',
          data: sample('tool.intent', { proposer: 'person', supersedes, rawInput: { path: 'OTHER.md' } }),
          ...at,
        },
      },
    ]);
    expect(result.ok).toBe(true);
  }

  /** The event-store puts a message of this session aside. */
  async quarantine(
    entry: Pick<LogEntry, 'seq' | 'subject'>,
    code: EventInput<'event.quarantined'>['code'],
  ): Promise<void> {
    const { bus } = this.#house;
    const lane = { tenant: this.tenant, session: SYSTEM_SESSION, lane: 'sys' } as const;
    for (;;) {
      const last = (
        await readRange(bus, { filter: `ev.v1.${this.tenant}.sys.>`, fromSeq: 1, leader: true })
      ).at(-1);
      const tail = last ? { seq: last.seq, hash: last.hash } : EMPTY_LANE;
      const { session } = this;
      const data = { session, seq: entry.seq, subject: entry.subject, code, reason: 'of the test' };
      const appended = await append(bus, this.#writer('event.quarantined'), lane, tail, {
        type: 'event.quarantined',
        data,
      });
      if (appended.ok) return;
    }
  }

  /** What must hold of every log: the observer appended nothing that the fold skips, and nothing twice. */
  async verify(): Promise<void> {
    let state = initialState(this.tenant, this.session);
    const observed = new Set<string>();
    for (const entry of await this.entries()) {
      if (entry.type !== 'unreadable' && entry.envelope.source.startsWith('interlock/observer/')) {
        const judgement = judge(state, entry);
        expect(judgement, `${entry.seq} ${entry.subject}`).toEqual({ legal: true });
        if (entry.type === 'tool.observation') {
          expect(observed.has(entry.envelope.intent ?? '')).toBe(false);
          observed.add(entry.envelope.intent ?? '');
        }
        expect(entry.envelope.causationid, entry.subject).toSatisfy(
          (id) => id !== undefined || entry.type !== 'tool.observation',
        );
      }
      state = evolve(state, entry);
    }
  }
}

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
