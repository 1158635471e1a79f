/** Plays one planned session through a house that is being harmed. */
import type { ConversationState, LogEntry } from '@interlock/contracts';
import { RetryableError } from '@interlock/kit';
import { type Answer, attachSession, type RuntimeContext, type Session } from '@interlock/runtime';
import { type Ask, createWorkspace, follow, openScripted } from '../harness/session.ts';
import { type AskPlan, commandOf, LOAD_POLICY, type SessionPlan } from './plan.ts';

export interface PlayedSession {
  readonly plan: SessionPlan;
  readonly session: Session;
  readonly workspace: string;
  /** Why it was left before it was at rest; null when it was. */
  readonly trouble: string | null;
}

export interface People {
  readonly first: RuntimeContext;
  readonly second: RuntimeContext;
}

/** Plays until the run is finished, or waits for a person who will not answer, or `signal` aborts. */
export async function playSession(
  people: People,
  plan: SessionPlan,
  signal: AbortSignal,
): Promise<PlayedSession> {
  const { path: workspace } = await createWorkspace(plan.files);
  const session = await openScripted(people.first, {
    session: plan.name,
    turns: plan.turns,
    workspace,
    mode: plan.mode,
    userPolicy: LOAD_POLICY,
  });
  const played = { plan, session, workspace };
  try {
    await new Player(people, plan, session).play(signal);
    return { ...played, trouble: signal.aborted ? 'it is not at rest within the bound' : null };
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    return { ...played, trouble: `the client gave up: ${error.code}: ${error.message}` };
  }
}

class Player {
  readonly #people: People;
  readonly #plan: SessionPlan;
  readonly #session: Session;
  #seen = 0;
  #events = 0;
  #lastSaid = 0;
  #hasCancelled = false;
  #hasSaidMore = false;
  readonly #answered = new Map<string, AskPlan>();

  constructor(people: People, plan: SessionPlan, session: Session) {
    this.#people = people;
    this.#plan = plan;
    this.#session = session;
  }

  async play(signal: AbortSignal): Promise<void> {
    this.#lastSaid = (await this.#session.say('do it')).seq;
    for (;;) {
      const until = this.#lastSaid;
      const { state } = await follow(this.#session, until, {
        signal,
        onEvent: (entry) => this.#onEvent(entry),
        onAsk: (ask) => this.#onAsk(ask),
        until: (state) => this.#isLeft(state),
      });
      // A message said meanwhile has a run of its own, or joined this one.
      if (signal.aborted || this.#lastSaid === until || this.#isLeft(state)) return;
    }
  }

  async #onEvent({ seq }: LogEntry): Promise<void> {
    // Following starts at the beginning each time.
    if (seq <= this.#seen) return;
    this.#seen = seq;
    this.#events += 1;
    const { messageAfter, cancelAfter } = this.#plan;
    if (messageAfter !== null && this.#events >= messageAfter && !this.#hasSaidMore) {
      this.#hasSaidMore = true;
      this.#lastSaid = (await this.#session.say('and something more')).seq;
    }
    if (cancelAfter !== null && this.#events >= cancelAfter && !this.#hasCancelled) {
      this.#hasCancelled = true;
      await this.#session.cancel('enough');
    }
  }

  async #onAsk(ask: Ask): Promise<Answer | null> {
    const { asks } = this.#plan;
    const isNew = !this.#answered.has(ask.askedId);
    const planned = asks[Math.min(this.#answered.size, asks.length - 1)] ?? 'approve';
    const how = this.#answered.get(ask.askedId) ?? planned;
    this.#answered.set(ask.askedId, how);
    switch (how) {
      case 'leave':
        return null;
      case 'reject':
        return { verdict: 'reject', comment: 'no' };
      case 'edit':
        return ask.tool === 'bash' && isNew
          ? { verdict: 'edit', input: { command: commandOf(`${ask.intent}-edited`, 0) } }
          : { verdict: 'approve' };
      case 'twice':
        await this.#answerAsSecond(ask);
        return { verdict: 'approve' };
      case 'approve':
        return { verdict: 'approve' };
    }
  }

  /** Two people answer the same ask; whichever is stored first counts. */
  async #answerAsSecond(ask: Ask): Promise<void> {
    const other = await attachSession(this.#people.second, this.#session.id);
    await other.answer(ask, { verdict: 'reject', comment: 'the other one says no' });
  }

  /** The session waits for an answer that nobody gives. */
  #isLeft(state: ConversationState): boolean {
    return (
      state.status === 'waiting_for_approval' &&
      Object.values(state.calls).some(
        ({ stage, asked }) => stage === 'asked' && asked !== null && this.#answered.get(asked.id) === 'leave',
      )
    );
  }
}
