/**
 * The facade: all that a front end needs, and all that it uses.
 *
 * F1. What it reports comes from stored events, in stream order; live text is shown before it is stored and never counts.
 * F2. A request is done when its append is acknowledged; a run is done when its last append is in the log.
 */
import { randomUUID } from 'node:crypto';
import {
  type Budgets,
  type ConversationState,
  evolve,
  initialState,
  isSessionId,
  type LiveChunkV1,
  liveChunkV1,
  liveSubject,
  type Mode,
  type ModelChoice,
  SYSTEM_SESSION,
} from '@interlock/contracts';
import { appendInbox, type Bus, type Writer } from '@interlock/kit';
import { RuntimeRefusal } from './errors.ts';
import { eventFeed, type FeedEvent } from './event-feed.ts';
import { type RuntimeOutput, toOutputs } from './output.ts';
import { AsyncQueue } from './queue.ts';

/** A client's connection and who it speaks for. The writer's signer is the person's key. */
export interface RuntimeContext {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly tenant: string;
  readonly person: string;
}

export interface OpenOptions {
  /** Default: a new id. */
  readonly session?: string;
  readonly workspace: string;
  readonly mode?: Mode;
  readonly model: ModelChoice;
  readonly budgets?: Budgets;
  readonly policies?: { readonly user?: string; readonly project?: string };
  readonly instructions?: string;
}

export type Answer =
  | {
      readonly verdict: 'approve';
      readonly scope?: 'once' | 'session' | 'project';
      readonly comment?: string;
    }
  | { readonly verdict: 'reject'; readonly comment?: string }
  | { readonly verdict: 'edit'; readonly input: unknown; readonly comment?: string };

/** One stored event with the state after it and what to tell about it. */
export interface Step extends FeedEvent {
  readonly state: ConversationState;
  readonly outputs: readonly RuntimeOutput[];
}

/** Longest message of a person, in UTF-8 bytes. */
export const MESSAGE_LIMIT_BYTES = 8 * 1024 * 1024;

/** Opens a new session. Refuses ids that no subject may hold (`invalid_id`, `reserved_id`) and ids in use (`session_exists`). */
export async function openSession(context: RuntimeContext, options: OpenOptions): Promise<Session> {
  const session = options.session ?? randomUUID().replaceAll('-', '').slice(0, 20);
  checkSessionId(session);
  const opened = await appendInbox(
    context.bus,
    context.writer,
    { tenant: context.tenant, session },
    {
      type: 'session.opened',
      data: {
        workspace: options.workspace,
        mode: options.mode ?? 'normal',
        model: options.model,
        policies: options.policies ?? {},
        budgets: options.budgets ?? {},
        ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
        person: context.person,
      },
    },
  );
  const handle = new Session(context, session);
  const state = await handle.getState();
  // The first opening of an id counts: with another one before ours the session is somebody else's.
  if (state.opened && state.inbox[opened.id] === undefined) {
    throw new RuntimeRefusal('session_exists', `There is a session "${session}" already.`);
  }
  return handle;
}

/** Takes up an existing session; `session_not_found` when there is none. */
export async function attachSession(context: RuntimeContext, session: string): Promise<Session> {
  checkSessionId(session);
  const handle = new Session(context, session);
  const state = await handle.getState();
  if (!state.opened) throw new RuntimeRefusal('session_not_found', `There is no session "${session}".`);
  return handle;
}

function checkSessionId(session: string): void {
  if (session === SYSTEM_SESSION) throw new RuntimeRefusal('reserved_id', `"${session}" is reserved.`);
  if (!isSessionId(session))
    throw new RuntimeRefusal('invalid_id', `"${session.slice(0, 80)}" cannot be a session id.`);
}

export class Session {
  readonly id: string;
  readonly #context: RuntimeContext;
  #state: ConversationState;

  constructor(context: RuntimeContext, id: string) {
    this.id = id;
    this.#context = context;
    this.#state = initialState(context.tenant, id);
  }

  /** The state now: everything stored so far. */
  async getState(): Promise<ConversationState> {
    for await (const { entry } of this.#feed({ fromSeq: this.#state.throughSeq + 1 })) this.#take(entry);
    return this.#state;
  }

  /** Stored events as they stand in the stream. With `follow` it goes on until aborted. */
  getEvents(
    options: { fromSeq?: number; follow?: boolean; signal?: AbortSignal } = {},
  ): AsyncIterable<FeedEvent> {
    return this.#feed(options);
  }

  /** Says something; yields what comes of it until the run that answers it is finished, or it waits for a person and `signal` aborts. */
  async *send(text: string, options: { signal?: AbortSignal } = {}): AsyncGenerator<RuntimeOutput> {
    const { seq } = await this.say(text);
    for await (const item of this.follow({ live: true, untilAnswered: seq, ...options })) {
      if ('type' in item) yield item;
      else yield* item.outputs;
    }
  }

  /** Appends a message of the person; done when it is stored. */
  async say(text: string): Promise<{ seq: number; id: string }> {
    const sizeBytes = Buffer.byteLength(text);
    if (sizeBytes > MESSAGE_LIMIT_BYTES) {
      throw new RuntimeRefusal(
        'message_too_large',
        `The message has ${sizeBytes} bytes; the limit is ${MESSAGE_LIMIT_BYTES}.`,
      );
    }
    return await this.#append({ type: 'user.message', data: { text, person: this.#context.person } });
  }

  /** Ends the run that is under way, or the one that a message just sent is about to start. */
  async cancel(comment?: string): Promise<void> {
    const data = {
      reason: 'person' as const,
      by: this.#context.person,
      ...(comment === undefined ? {} : { comment }),
    };
    await this.#append({ type: 'run.cancel', data });
  }

  /** Answers an ask; it counts for the ask that was shown and no other. */
  async answer(
    ask: { intent: string; askedId: string; bindingSha256: string },
    answer: Answer,
  ): Promise<void> {
    const { intent, askedId, bindingSha256 } = ask;
    const person = this.#context.person;
    const newIntent = answer.verdict === 'edit' ? { newIntent: this.#context.writer.ids.ulid() } : {};
    await this.#append({
      type: 'tool.answer',
      data: { intent, askedId, bindingSha256, person, ...answer, ...newIntent },
    });
  }

  async close(reason = 'closed by the client'): Promise<void> {
    await this.#append({ type: 'session.closed', data: { reason } });
  }

  /**
   * Stored events with their state and outputs, from where this handle is, and live text between them.
   * Ends when the run that answers the message stored at `untilAnswered` is finished, or when aborted.
   */
  async *follow(options: {
    live?: boolean;
    untilAnswered?: number;
    fromStart?: boolean;
    signal?: AbortSignal;
  }): AsyncGenerator<Step | Extract<RuntimeOutput, { type: 'text.delta' }>> {
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const queue = new AsyncQueue<Step | Extract<RuntimeOutput, { type: 'text.delta' }>>();
    const unsubscribe = options.live ? this.#live((chunk) => queue.push(chunk)) : null;
    const start = options.fromStart ? initialState(this.#context.tenant, this.id) : this.#state;
    const pump = this.#pump(queue, { start, untilAnswered: options.untilAnswered, signal });
    try {
      yield* queue;
    } finally {
      stop.abort();
      unsubscribe?.();
      await pump;
    }
  }

  /** Folds on its own: `getState` may be ahead of what has been reported. */
  async #pump(
    queue: AsyncQueue<Step | RuntimeOutput>,
    options: {
      readonly start: ConversationState;
      readonly untilAnswered: number | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { start, untilAnswered, signal } = options;
    let state = start;
    try {
      for await (const event of this.#feed({ fromSeq: state.throughSeq + 1, follow: true, signal })) {
        const before = state;
        state = evolve(state, event.entry);
        if (state.throughSeq > this.#state.throughSeq) this.#state = state;
        queue.push({ ...event, state, outputs: toOutputs(before, state, event.entry) });
        if (untilAnswered !== undefined && isAnswered(state, untilAnswered)) break;
      }
      queue.end();
    } catch (error) {
      queue.end(error);
    }
  }

  #take(entry: FeedEvent['entry']): void {
    this.#state = evolve(this.#state, entry);
  }

  #feed(options: { fromSeq?: number; follow?: boolean; signal?: AbortSignal }): AsyncGenerator<FeedEvent> {
    return eventFeed(this.#context.bus, { tenant: this.#context.tenant, session: this.id, ...options });
  }

  #append(draft: Parameters<typeof appendInbox>[3]): Promise<{ seq: number; id: string }> {
    return appendInbox(
      this.#context.bus,
      this.#context.writer,
      { tenant: this.#context.tenant, session: this.id },
      draft,
    );
  }

  #live(take: (delta: Extract<RuntimeOutput, { type: 'text.delta' }>) => void): () => void {
    const subject = liveSubject.session(this.#context.tenant, this.id);
    const subscription = this.#context.bus.nc.subscribe(subject, {
      callback: (_error, message) => {
        const chunk = parseChunk(message.string());
        if (chunk?.kind === 'text' || chunk?.kind === 'reasoning') {
          take({ type: 'text.delta', text: chunk.text, attempt: chunk.attempt, kind: chunk.kind });
        }
      },
    });
    return () => subscription.unsubscribe();
  }
}

function parseChunk(json: string): LiveChunkV1 | null {
  try {
    const parsed = liveChunkV1.safeParse(JSON.parse(json));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    // Live text is only shown; what does not parse is not.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** True when the message stored at `seq` has been taken by a run and that run, and any that followed from it, is finished. */
export function isAnswered(state: ConversationState, seq: number): boolean {
  return state.run === null && state.pending.length === 0 && (state.lastRun?.seq ?? 0) > seq;
}
