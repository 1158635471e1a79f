/** Answers asks in place: always approve, always reject, or ask the person at the terminal. */
import { isCancel, select } from '@clack/prompts';
import type { Answer, RuntimeOutput, Session } from '@interlock/runtime';
import { harmless } from './render/progress.ts';
import type { Terminal } from './terminal.ts';

export const APPROVE_MODES = ['all', 'none', 'ask'] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];
export type Ask = Extract<RuntimeOutput, { type: 'approval.asked' }>;

/** Returns false when nobody can be asked: the session then waits for an answer from elsewhere. */
export async function answerAsk(
  session: Session,
  ask: Ask,
  mode: ApproveMode,
  terminal: Terminal,
): Promise<boolean> {
  const answer = mode === 'ask' ? await askPerson(ask, terminal) : fixedAnswer(mode);
  if (!answer) return false;
  await session.answer(ask, answer);
  return true;
}

function fixedAnswer(mode: 'all' | 'none'): Answer {
  return mode === 'all'
    ? { verdict: 'approve', scope: 'once', comment: '--approve all' }
    : { verdict: 'reject', comment: '--approve none' };
}

async function askPerson(ask: Ask, terminal: Terminal): Promise<Answer | null> {
  if (!terminal.interactive) return null;
  terminal.note('');
  terminal.note(terminal.paint('bold', harmless(ask.prompt.title)));
  terminal.note(harmless(ask.prompt.detail));
  if (ask.prompt.preview) terminal.note(harmless(ask.prompt.preview));
  terminal.note(terminal.paint('dim', `effects: ${ask.prompt.effects.join(', ')}`));
  const choice = await select({
    message: 'Allow this call?',
    options: [
      { value: 'once', label: 'Yes, once' },
      ...(ask.scopes.includes('session')
        ? [{ value: 'session', label: 'Yes, and the same again in this session' }]
        : []),
      ...(ask.scopes.includes('project')
        ? [{ value: 'project', label: 'Yes, and the same again in this workspace' }]
        : []),
      { value: 'reject', label: 'No' },
    ],
    output: process.stderr,
  });
  if (isCancel(choice) || choice === 'reject') return { verdict: 'reject' };
  return { verdict: 'approve', scope: choice as 'once' | 'session' | 'project' };
}
