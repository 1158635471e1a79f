/** What a session of the load does: a script, files, and when people interfere. Pure, from a source of random numbers. */
import type { Mode } from '@interlock/contracts';
import type { ScriptPart, ScriptTurn } from '../harness/session.ts';
import type { Random } from './random.ts';

export const EFFECTS_FILE = 'effects.log';
export const EDITED_FILE = 'list.txt';

/** How an ask is answered: also by two people at once, or by nobody. */
export type AskPlan = 'approve' | 'reject' | 'edit' | 'twice' | 'leave';

export interface SessionPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly files: Readonly<Record<string, string>>;
  readonly turns: readonly ScriptTurn[];
  /** After how many stored events a person says something more; null: never. */
  readonly messageAfter: number | null;
  /** After how many stored events a person cancels; null: never. */
  readonly cancelAfter: number | null;
  /** For the asks of the session, in order; the last one for all that follow. */
  readonly asks: readonly AskPlan[];
}

/** Lets commands of the load through without a question in mode `auto-edit`; in mode `normal` a person is asked. */
export const LOAD_POLICY = `version: 1
rules:
  - id: load-commands
    decision: allow
    reason: The load of the chaos run appends a line.
    when: { tool: bash, mode: auto-edit }
`;

const READ_FILES = 4;

export function planSession(index: number, random: Random): SessionPlan {
  const name = `chaos-${index}`;
  const isAsked = random.chance(0.3);
  const turns = Array.from({ length: random.between(1, 3) }, (_, turn) => planTurn(name, turn, random));
  const last: ScriptTurn = { parts: [{ text: `${name} is done.` }] };
  const kind = random.next();
  return {
    name,
    mode: isAsked ? 'normal' : 'auto-edit',
    files: filesOf(name),
    // A message that comes late starts another run, which needs an answer too.
    turns: [...turns, last, last, last],
    messageAfter: kind < 0.25 ? random.between(3, 25) : null,
    cancelAfter: kind >= 0.25 && kind < 0.45 ? random.between(3, 25) : null,
    asks: [random.pick(ASK_PLANS), random.pick(ASK_PLANS), 'approve'],
  };
}

const ASK_PLANS: readonly AskPlan[] = ['approve', 'approve', 'approve', 'reject', 'edit', 'twice', 'leave'];

function filesOf(name: string): Record<string, string> {
  const notes = Array.from({ length: READ_FILES }, (_, index): [string, string] => [
    `note-${index}.txt`,
    `note ${index} of ${name}\n`,
  ]);
  return { ...Object.fromEntries(notes), [EDITED_FILE]: 'first\nlast\n', [EFFECTS_FILE]: '' };
}

/** Reads side by side, then effects one after another. */
function planTurn(name: string, turn: number, random: Random): ScriptTurn {
  const token = (call: number): string => `${name}-${turn}-${call}`;
  const reads = Array.from({ length: random.between(1, 4) }, (_, index): ScriptPart => {
    const path = index === 0 ? EDITED_FILE : `note-${index % READ_FILES}.txt`;
    return { tool: 'read_file', input: { path } };
  });
  const effects = Array.from(
    { length: random.between(1, 3) },
    (_, index): ScriptPart =>
      random.chance(0.3) ? editWith(token(index)) : appendOf(token(index), random.between(0, 3) * 40),
  );
  const delayMs = random.chance(0.3) ? random.between(20, 300) : 0;
  return {
    parts: [{ text: `Turn ${turn + 1} of ${name}.` }, ...reads, ...effects],
    ...(delayMs > 0 ? { delayMs } : {}),
  };
}

/** A command that leaves one line in the world, so that effects can be counted there. */
export function commandOf(token: string, sleepMs: number): string {
  return `sleep ${sleepMs / 1000}; echo ${token} >> ${EFFECTS_FILE}; sleep ${sleepMs / 1000}`;
}

function appendOf(token: string, sleepMs: number): ScriptPart {
  return { tool: 'bash', input: { command: commandOf(token, sleepMs) }, reason: 'leave a line' };
}

function editWith(token: string): ScriptPart {
  return {
    tool: 'edit_file',
    input: { path: EDITED_FILE, oldText: 'last\n', newText: `${token}\nlast\n` },
    reason: 'insert a line',
  };
}
