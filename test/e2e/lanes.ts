/** What a played session holds of each call. */
import { callOf, type LogEntry } from '@interlock/contracts';
import type { Played, ScriptPart, ScriptTurn } from '../harness/session.ts';

export interface PlayedIntent {
  readonly intent: string;
  readonly tool: string;
  /** Types of its lane, in order. */
  readonly types: readonly string[];
  readonly entries: readonly LogEntry[];
  /** What the model was told of it, all parts in one text; empty while it is not observed. */
  readonly told: string;
  readonly ending: string | undefined;
}

/** The calls that the model declared and those that people put in their place, in order of their first event. */
export function intentsOf(played: Pick<Played, 'entries' | 'state'>): readonly PlayedIntent[] {
  const lanes = Map.groupBy(played.entries, (entry) =>
    entry.type === 'unreadable' ? '' : (entry.envelope.intent ?? ''),
  );
  lanes.delete('');
  return [...lanes].map(([intent, entries]) => {
    const call = callOf(played.state, intent);
    return {
      intent,
      tool: call?.tool ?? '',
      types: entries.map(({ type }) => type),
      entries,
      told: call?.observation?.parts.map(({ text }) => text).join('\n') ?? '',
      ending: call?.observation?.ending,
    };
  });
}

/** The only call of a session. */
export function onlyIntentOf(played: Pick<Played, 'entries' | 'state'>): PlayedIntent {
  const intents = intentsOf(played);
  const [only] = intents;
  if (!only || intents.length > 1) throw new Error(`${intents.length} intents where one was expected`);
  return only;
}

/** Sequence of the first event of a type on a lane. */
export function seqOf(intent: PlayedIntent, type: LogEntry['type']): number {
  const found = intent.entries.find((entry) => entry.type === type);
  if (!found) throw new Error(`${intent.intent} has no ${type}: ${intent.types.join(', ')}`);
  return found.seq;
}

/** A turn of the script. */
export function turn(...parts: ScriptPart[]): ScriptTurn {
  return { parts };
}

/** A turn that answers only when the model was told something that matches. */
export function whenTold(pattern: string, ...parts: ScriptPart[]): ScriptTurn {
  return { when: { observation_matches: pattern }, parts };
}

/** A call of `bash`. */
export function bash(command: string, more: Readonly<Record<string, unknown>> = {}): ScriptPart {
  return { tool: 'bash', input: { command, ...more } };
}
