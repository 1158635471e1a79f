/** Plays a scripted session through a running house and gives back what the log holds of it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Budgets, ConversationState, LogEntry, Mode } from '@interlock/contracts';
import { putArtifact } from '@interlock/kit';
import {
  type Answer,
  openSession,
  type RuntimeContext,
  type RuntimeOutput,
  type Session,
} from '@interlock/runtime';
import { type Expectation, findViolations, type RawEvent } from './invariants.ts';

export type ScriptPart =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly tool: string; readonly input: unknown; readonly reason?: string; readonly expect?: string }
  | { readonly tool: string; readonly rawInput: string };

export interface ScriptTurn {
  readonly when?: { readonly observation_matches?: string; readonly turn?: number };
  readonly parts: readonly ScriptPart[];
  readonly stop?: string;
  readonly delayMs?: number;
  readonly cut?: boolean;
  readonly error?: { readonly category: string; readonly retryAfterMs?: number };
  readonly usage?: Readonly<Record<string, number>>;
}

export type Ask = Extract<RuntimeOutput, { type: 'approval.asked' }>;

export interface PlayOptions {
  readonly turns: readonly ScriptTurn[];
  readonly workspace: string;
  readonly task?: string;
  readonly mode?: Mode;
  readonly budgets?: Budgets;
  readonly session?: string;
  readonly userPolicy?: string;
  /** How asks are answered; null leaves one open. Default: approve. */
  readonly onAsk?: (ask: Ask, session: Session) => Answer | null | Promise<Answer | null>;
  /** Called for each stored event as it comes; may act on the session. */
  readonly onEvent?: (entry: LogEntry, session: Session) => void | Promise<void>;
  /** Ends the following before the run does. */
  readonly until?: (state: ConversationState) => boolean;
  readonly signal?: AbortSignal;
}

export interface Played {
  readonly session: Session;
  readonly state: ConversationState;
  readonly entries: readonly LogEntry[];
  readonly raw: readonly RawEvent[];
}

/** Opens a session, says the task, follows it to the end of its run (or `until`), and checks the invariants of its log. */
export async function play(client: RuntimeContext, options: PlayOptions): Promise<Played> {
  const session = await openScripted(client, options);
  const { seq } = await session.say(options.task ?? 'do it');
  return await follow(session, seq, options);
}

export async function openScripted(client: RuntimeContext, options: PlayOptions): Promise<Session> {
  const script = await putArtifact(client.bus, client.tenant, JSON.stringify({ turns: options.turns }), {
    mediaType: 'application/json',
  });
  const policy = options.userPolicy
    ? await putArtifact(client.bus, client.tenant, options.userPolicy, { mediaType: 'application/yaml' })
    : null;
  return await openSession(client, {
    workspace: options.workspace,
    mode: options.mode ?? 'auto-edit',
    model: { provider: 'scripted', model: 'script', script: script.uri },
    ...(options.session === undefined ? {} : { session: options.session }),
    ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
    ...(policy === null ? {} : { policies: { user: policy.uri.slice('artifact://'.length) } }),
  });
}

/** Follows to the end of the run that answers the message stored at `messageSeq`. */
export async function follow(
  session: Session,
  messageSeq: number,
  options: Omit<PlayOptions, 'turns' | 'workspace'>,
): Promise<Played> {
  const entries: LogEntry[] = [];
  const raw: RawEvent[] = [];
  const before = await session.getState();
  let state = before;
  const { signal } = options;
  for await (const item of session.follow({
    untilAnswered: messageSeq,
    fromStart: true,
    ...(signal ? { signal } : {}),
  })) {
    if ('type' in item) continue;
    entries.push(item.entry);
    raw.push({ seq: item.seq, event: item.event, hash: item.entry.hash });
    state = item.state;
    await options.onEvent?.(item.entry, session);
    for (const output of item.outputs) {
      if (output.type !== 'approval.asked') continue;
      // What is read again from the start may have been answered before.
      const isOpen = item.seq > before.throughSeq || isOpenAsk(before, output);
      if (isOpen && isOpenAsk(state, output)) await reply(session, output, options);
    }
    if (options.until?.(state)) break;
  }
  return { session, state, entries, raw };
}

function isOpenAsk({ calls }: ConversationState, { intent, askedId }: Ask): boolean {
  const asked = calls[intent]?.stage === 'asked' ? calls[intent]?.asked : null;
  return asked?.id === askedId && asked.answer === null;
}

async function reply(session: Session, ask: Ask, { onAsk }: Pick<PlayOptions, 'onAsk'>): Promise<void> {
  const answer = onAsk ? await onAsk(ask, session) : ({ verdict: 'approve' } as const);
  if (answer) await session.answer(ask, answer);
}

/** The invariants of a session at rest; throws a list of what is broken. */
export function assertSound(played: Played, options: Expectation = { finished: true }): void {
  const violations = findViolations(played.raw, options);
  if (violations.length > 0)
    throw new Error(`the log of ${played.session.id} is not sound:\n${violations.join('\n')}`);
}

/** The types of a session's events, in order. */
export function typesOf({ entries }: Pick<Played, 'entries'>): readonly string[] {
  return entries.map(({ type }) => type);
}

/** Data of the events of a type, in order. */
export function dataOf<Type extends LogEntry['type']>(
  { entries }: Pick<Played, 'entries'>,
  type: Type,
): readonly Extract<LogEntry, { type: Type; data: unknown }>['data'][] {
  return entries.flatMap((entry) => (entry.type === type && 'data' in entry ? [entry.data] : [])) as never;
}

/** A new workspace with these files; removed by `remove`. */
export async function createWorkspace(
  files: Readonly<Record<string, string>>,
): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'interlock-ws-'));
  for (const [name, text] of Object.entries(files)) {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
