import type { LogEntry } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { type IndexedSession, indexEntry, restingStatus } from './sessions-index.ts';

let seq = 0;
function entry(type: string, data: unknown, session = 's1'): LogEntry {
  seq += 1;
  const envelope = {
    tenant: 'local',
    session,
    time: `2026-01-01T00:00:${String(seq).padStart(2, '0')}Z`,
    intent: 'i1',
  };
  return {
    type,
    seq,
    hash: '',
    subject: '',
    authenticity: 'unchecked',
    data,
    envelope,
  } as unknown as LogEntry;
}
const opened = (workspace = '/w'): LogEntry =>
  entry('session.opened', { mode: 'normal', model: { provider: 'scripted', model: 'm' }, workspace });

function given(...entries: LogEntry[]): IndexedSession | undefined {
  const sessions = new Map<string, IndexedSession>();
  for (const each of entries) indexEntry(sessions, each);
  return sessions.get('local.s1');
}

describe('the list of sessions', () => {
  test('nothing of a session that was never opened', () => {
    expect(given(entry('user.message', { text: 'hi' }))).toBeUndefined();
  });

  test('the first opening counts', () => {
    expect(given(opened('/a'), opened('/b'))).toMatchObject({
      workspace: '/a',
      model: 'scripted:m',
      running: false,
    });
  });

  test('runs add up; the first message is the title', () => {
    const line = given(
      opened(),
      entry('user.message', { text: 'first' }),
      entry('run.started', { number: 1 }),
      entry('tool.approval.asked', {}),
      entry('run.finished', { turns: 2, reason: 'completed' }),
      entry('user.message', { text: 'second' }),
      entry('run.started', { number: 2 }),
      entry('run.finished', { turns: 3, reason: 'budget' }),
    );
    expect(line).toMatchObject({
      firstMessage: 'first',
      runs: 2,
      turns: 5,
      running: false,
      lastReason: 'budget',
    });
    expect(line?.asked).toEqual(new Set(['i1']));
  });

  test('a message starts a run before the run is recorded', () => {
    expect(given(opened(), entry('user.message', { text: 'x' }))?.running).toBe(true);
  });

  test('status at rest, in the words of the fold', () => {
    expect(restingStatus({ lastReason: null })).toBe('idle');
    expect(restingStatus({ lastReason: 'cancelled' })).toBe('idle');
    expect(restingStatus({ lastReason: 'completed' })).toBe('completed');
    expect(restingStatus({ lastReason: 'model_failed' })).toBe('failed');
  });
});
