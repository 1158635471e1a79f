/**
 * What must hold after the harm, of each session.
 *
 * C1. The log is sound (test/harness/invariants.ts), and nothing of a session was quarantined.
 * C2. The world: an intent left its mark at most once; once if its fact says success; never if it was not claimed.
 * C3. Every run is finished, or the session waits for a person whom the event-store names.
 * C4. The event-store's fold, after all its deaths, is byte for byte the fold of what it hands out.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ConversationState,
  evolve,
  initialState,
  type LogEntry,
  rpcSubject,
} from '@interlock/contracts';
import { callRpc } from '@interlock/kit';
import { canonicalJson } from '@interlock/kit/pure';
import type { RuntimeContext } from '@interlock/runtime';
import { findViolations, type RawEvent } from '../harness/invariants.ts';
import { EDITED_FILE, EFFECTS_FILE } from './plan.ts';
import type { PlayedSession } from './player.ts';

export interface Verified {
  readonly session: string;
  /** A reason of `run.finished`, or what the session waits for. */
  readonly end: string;
  readonly intents: number;
  readonly runs: number;
  /** Facts and other ends by kind. */
  readonly endings: Readonly<Record<string, number>>;
  readonly lateFacts: number;
  /** Marks found in the world. */
  readonly effects: number;
  readonly violations: readonly string[];
}

const QUERY = { timeoutMs: 10_000, unavailable: 'query_timeout' } as const;

export async function verifySession(client: RuntimeContext, played: PlayedSession): Promise<Verified> {
  const { session, trouble } = played;
  const raw: RawEvent[] = [];
  const entries: LogEntry[] = [];
  let state = initialState(client.tenant, session.id);
  for await (const { seq, event, entry } of session.getEvents()) {
    raw.push({ seq, event, hash: entry.hash });
    entries.push(entry);
    state = evolve(state, entry);
  }
  const isWaiting = state.status === 'waiting_for_approval';
  const world = await effectViolations(played, entries);
  const found = [
    ...(trouble === null ? [] : [trouble]),
    ...findViolations(raw, { finished: !isWaiting }),
    ...world.violations,
    ...(await restViolations(client, state)),
    ...(await foldViolations(client, state)),
  ];
  return {
    session: session.id,
    end: isWaiting ? 'waiting_for_approval' : (state.lastRun?.reason ?? state.status),
    intents: Object.keys(state.calls).length,
    runs: entries.filter(({ type }) => type === 'run.started').length,
    endings: endingsOf(state),
    lateFacts: entries.filter(({ type }) => type === 'execution.late').length,
    effects: world.effects,
    violations: found.map((violation) => `${session.id}: ${violation}`),
  };
}

function endingsOf(state: ConversationState): Record<string, number> {
  const endings: Record<string, number> = {};
  for (const { observation, stage } of Object.values(state.calls)) {
    const ending = observation?.ending ?? stage;
    endings[ending] = (endings[ending] ?? 0) + 1;
  }
  return endings;
}

/** C3, and that what was skipped are repeats of what people say and nothing else. */
async function restViolations(client: RuntimeContext, state: ConversationState): Promise<string[]> {
  if (state.status === 'waiting_for_approval') {
    const reply = await callRpc(client.bus, {
      ...QUERY,
      subject: rpcSubject.query(client.tenant, 'approvals'),
      rpc: 'query.approvals',
      request: { session: state.session },
    });
    const known = reply.ok && reply.approvals.some(({ session }) => session === state.session);
    return known ? [] : ['it waits for a person, and the event-store names no call that waits'];
  }
  const isAtRest = state.run === null && state.pending.length === 0 && state.lastRun !== null;
  if (isAtRest) return [];
  const open = Object.values(state.calls).filter(({ stage }) => stage !== 'observed');
  const calls = open.map(({ intent, stage }) => `${intent} ${stage}`).join(', ');
  return [
    `not at rest: ${state.status}, journal at ${state.journal.step?.type ?? 'nothing'}, open: ${calls}`,
  ];
}

/** C4 */
async function foldViolations(client: RuntimeContext, state: ConversationState): Promise<string[]> {
  const reply = await callRpc(client.bus, {
    ...QUERY,
    subject: rpcSubject.query(client.tenant, 'state'),
    rpc: 'query.state',
    request: { session: state.session, at: state.throughSeq },
  });
  if (!reply.ok) return [`query.state: ${reply.code}`];
  const same = canonicalJson(reply.state) === canonicalJson(state);
  return same ? [] : [`the event-store's state at ${state.throughSeq} is another one`];
}

/** C2 */
async function effectViolations(
  { workspace }: PlayedSession,
  entries: readonly LogEntry[],
): Promise<{ effects: number; violations: string[] }> {
  const lines = (
    await Promise.all([EFFECTS_FILE, EDITED_FILE].map((name) => linesOf(join(workspace, name))))
  ).flat();
  const violations: string[] = [];
  let effects = 0;
  for (const entry of entries) {
    if (entry.type !== 'tool.intent') continue;
    const token = tokenOf(entry.data.rawInput);
    const intent = entry.envelope.intent ?? '';
    if (token === null) continue;
    const count = lines.filter((line) => line === token).length;
    effects += count;
    const wrong = countError(count, endOf(entries, intent));
    if (wrong !== null) violations.push(`${intent} (${token}): ${wrong}`);
  }
  return { effects, violations };
}

type End = 'unclaimed' | 'success' | 'failed' | 'refused' | 'indeterminate' | 'open';

function endOf(entries: readonly LogEntry[], intent: string): End {
  let end: End = 'unclaimed';
  for (const entry of entries) {
    if (entry.type === 'unreadable' || entry.envelope.intent !== intent) continue;
    if (entry.type === 'tool.execution.started') end = 'open';
    if (entry.type === 'tool.execution.completed') end = entry.data.outcome;
  }
  return end;
}

function countError(count: number, end: End): string | null {
  switch (end) {
    case 'unclaimed':
    case 'refused':
      return count === 0 ? null : `it left ${count} marks, and was ${end}`;
    case 'success':
      return count === 1 ? null : `its fact is success, and it left ${count} marks`;
    case 'failed':
    case 'indeterminate':
    case 'open':
      return count <= 1 ? null : `it left ${count} marks`;
  }
}

/** The line that a call leaves; null for one that leaves none. */
function tokenOf(rawInput: unknown): string | null {
  if (typeof rawInput !== 'object' || rawInput === null) return null;
  if ('command' in rawInput) return /echo (\S+) >>/.exec(String(rawInput.command))?.[1] ?? null;
  return 'newText' in rawInput ? (String(rawInput.newText).split('\n')[0] ?? null) : null;
}

async function linesOf(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\n');
}
