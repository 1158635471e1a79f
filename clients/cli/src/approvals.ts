/**
 * Answers the asks of a session while it is followed: always approve, always reject, or ask the person at the terminal.
 *
 * A1. Only asks that are open now are answered, never those that history shows answered.
 * A2. One prompt at a time; one that is answered elsewhere, or expires, is taken away.
 */
import type { ConversationState } from '@interlock/contracts';
import type { Answer, RuntimeOutput, Session } from '@interlock/runtime';
import { harmless } from './render/harmless.ts';
import type { Terminal } from './terminal.ts';

export const APPROVE_MODES = ['all', 'none', 'ask'] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];
export type Ask = Extract<RuntimeOutput, { type: 'approval.asked' }>;

export interface ApprovalDeskOptions {
  readonly session: Session;
  readonly mode: ApproveMode;
  readonly terminal: Terminal;
  /** Called before and after a prompt is on the screen, so that nothing else is drawn meanwhile. */
  readonly onPrompt: (isOpen: boolean) => void;
  /** The person left the prompt by Ctrl-C. */
  readonly onInterrupt: () => void;
  /** An answer could not be stored. */
  readonly onFailure: (error: unknown) => void;
}

export class ApprovalDesk {
  readonly #options: ApprovalDeskOptions;
  readonly #asks = new Map<string, Ask>();
  readonly #taken = new Set<string>();
  #prompting: { readonly askedId: string; readonly controller: AbortController } | null = null;
  #queue: Promise<void> = Promise.resolve();
  #open: ReadonlySet<string> = new Set();

  constructor(options: ApprovalDeskOptions) {
    this.#options = options;
  }

  /** Remembers what an ask says; it is answered once `attend` sees that it is open. */
  note(ask: Ask): void {
    this.#asks.set(ask.askedId, ask);
  }

  /** Answers the asks that are open in this state, the present one. Returns false when the run waits and nobody can be asked. */
  async attend(state: ConversationState): Promise<boolean> {
    const open = Object.values(state.calls)
      .filter(({ stage, asked }) => stage === 'asked' && asked !== null && asked.answer === null)
      .flatMap(({ asked }) => (asked ? [asked.id] : []));
    this.#open = new Set(open);
    const prompting = this.#prompting;
    if (prompting && !this.#open.has(prompting.askedId)) prompting.controller.abort();
    if (this.#cannotAsk()) return state.status !== 'waiting_for_approval' || open.length === 0;
    for (const askedId of open) {
      const ask = this.#asks.get(askedId);
      if (!ask || this.#taken.has(askedId)) continue;
      this.#taken.add(askedId);
      await this.#take(ask);
    }
    return true;
  }

  /** Takes away what is on the screen. */
  async close(): Promise<void> {
    this.#open = new Set();
    this.#prompting?.controller.abort();
    await this.#queue;
  }

  #cannotAsk(): boolean {
    return this.#options.mode === 'ask' && !this.#options.terminal.interactive;
  }

  async #take(ask: Ask): Promise<void> {
    const { session, mode, onFailure } = this.#options;
    if (mode !== 'ask') {
      await session.answer(ask, fixedAnswer(mode));
      return;
    }
    // Events go on while the person thinks.
    this.#queue = this.#queue.then(() => this.#ask(ask)).catch(onFailure);
  }

  async #ask(ask: Ask): Promise<void> {
    const { session, terminal, onPrompt, onInterrupt } = this.#options;
    if (!this.#open.has(ask.askedId)) return;
    const controller = new AbortController();
    this.#prompting = { askedId: ask.askedId, controller };
    onPrompt(true);
    try {
      const answer = await askPerson(ask, terminal, controller.signal);
      if (controller.signal.aborted) terminal.note('answered elsewhere, or no longer asked');
      else if (answer === null) onInterrupt();
      else await session.answer(ask, answer);
    } finally {
      this.#prompting = null;
      onPrompt(false);
    }
  }
}

function fixedAnswer(mode: 'all' | 'none'): Answer {
  return mode === 'all'
    ? { verdict: 'approve', scope: 'once', comment: '--approve all' }
    : { verdict: 'reject', comment: '--approve none' };
}

/** Null when the person left by Ctrl-C, or the prompt was taken away. */
async function askPerson(ask: Ask, terminal: Terminal, signal: AbortSignal): Promise<Answer | null> {
  const { title, detail, preview, effects } = ask.prompt;
  terminal.note('');
  terminal.note(terminal.paint('bold', harmless(title)));
  terminal.note(harmless(detail));
  if (preview !== undefined) terminal.note(harmless(preview));
  terminal.note(terminal.paint('dim', `effects: ${effects.join(', ')}`));
  const { isCancel, select } = await import('@clack/prompts');
  const choice = await select({
    message: 'Allow this call?',
    options: [
      { value: 'once' as const, label: 'Yes, once' },
      ...(ask.scopes.includes('session')
        ? [{ value: 'session' as const, label: 'Yes, and the same again in this session' }]
        : []),
      ...(ask.scopes.includes('project')
        ? [{ value: 'project' as const, label: 'Yes, and the same again in this workspace' }]
        : []),
      { value: 'reject' as const, label: 'No' },
    ],
    output: process.stderr,
    signal,
  });
  if (isCancel(choice)) return null;
  return choice === 'reject' ? { verdict: 'reject' } : { verdict: 'approve', scope: choice };
}
