/**
 * Which turn of a script answers, and with what. Pure: the same fold and script pick the same turn, so a script goes on
 * where it was after a crash.
 */
import type { ContextPart, Stop } from '@interlock/contracts';
import { parseArguments } from '../json.ts';
import type { AnswerPart } from '../provider.ts';
import type { Script, ScriptCall, ScriptTurn } from './script.ts';

interface ScriptPoint {
  /** Number of the run within the session. */
  readonly run: number;
  /** Turn of the run, from 1. */
  readonly turn: number;
  /** Turns left when the request was made; null: all. */
  readonly unused: readonly number[] | null;
  /** Candidates that earlier attempts of this request used up. */
  readonly skip: number;
  readonly context: readonly ContextPart[];
}

export type ScriptChoice =
  | {
      readonly ok: true;
      readonly index: number;
      readonly turn: ScriptTurn;
      readonly unused: readonly number[];
    }
  | { readonly ok: false; readonly message: string; readonly unused: readonly number[] };

/** The first unused turn whose `when` holds, after those that earlier attempts of the request used up. */
export function chooseTurn(script: Script, point: ScriptPoint): ScriptChoice {
  const unused = point.unused ?? script.turns.map((_, index) => index);
  const observed = lastObservation(point.context);
  const candidates = unused.filter((index) => {
    const turn = script.turns[index];
    return turn !== undefined && holds(turn, point.turn, observed);
  });
  const chosen = candidates[point.skip];
  const gone = new Set(candidates.slice(0, point.skip + 1));
  const left = unused.filter((index) => !gone.has(index));
  const turn = chosen === undefined ? undefined : script.turns[chosen];
  if (chosen !== undefined && turn !== undefined) return { ok: true, index: chosen, turn, unused: left };
  return { ok: false, unused: left, message: explain(script, point, left) };
}

/** Texts of the last results the model was given, a line each; null where there are none. */
function lastObservation(context: readonly ContextPart[]): string | null {
  const part = context.findLast((candidate) => candidate.kind === 'results');
  if (part?.kind !== 'results') return null;
  return part.results.flatMap((result) => result.parts.map(({ text }) => text)).join('\n');
}

function holds({ when }: ScriptTurn, turn: number, observed: string | null): boolean {
  if (when?.turn !== undefined && when.turn !== turn) return false;
  if (when?.observation_matches === undefined) return true;
  return observed !== null && when.observation_matches.test(observed);
}

function explain(script: Script, { run, turn }: ScriptPoint, left: readonly number[]): string {
  const waiting = left.map((index) => `turns[${index}] ${waitsFor(script.turns[index])}`);
  const rest = waiting.length === 0 ? 'every turn of it is used' : `unused: ${waiting.join('; ')}`;
  return `the script has nothing for turn ${turn} of run ${run}; ${rest}`;
}

function waitsFor(turn: ScriptTurn | undefined): string {
  const at = turn?.when?.turn;
  const match = turn?.when?.observation_matches;
  const conditions = [
    ...(at === undefined ? [] : [`turn ${at}`]),
    ...(match === undefined ? [] : [`an observation that matches ${String(match)}`]),
  ];
  return conditions.length === 0 ? 'waits for nothing' : `waits for ${conditions.join(' and ')}`;
}

/** Stops whose calls never run, however complete they look. */
const CUTTING: ReadonlySet<Stop> = new Set(['max_tokens', 'refusal', 'content_filter', 'context_window']);

function cutsCalls(stop: Stop): boolean {
  return CUTTING.has(stop);
}

/** How the turn stops; `error` and `cancelled` are not stops of an answer. */
export function stopOf(turn: ScriptTurn): Stop | 'error' | 'cancelled' {
  return turn.stop ?? (turn.parts.some((part) => 'call' in part) ? 'tool_calls' : 'end_turn');
}

export function answerParts(turn: ScriptTurn, index: number, stop: Stop): AnswerPart[] {
  return turn.parts.map((part, at): AnswerPart => {
    if ('text' in part) return { type: 'text', text: part.text };
    if ('reasoning' in part) return { type: 'reasoning', text: part.reasoning };
    const providerRef = `script_${index}_${at}`;
    return cutsCalls(stop) ? rejected(part.call, providerRef, stop) : called(part.call, providerRef);
  });
}

function called({ tool, raw, reason, expect }: ScriptCall, providerRef: string): AnswerPart {
  const said = { ...(reason === undefined ? {} : { reason }), ...(expect === undefined ? {} : { expect }) };
  return { type: 'tool_call', tool, ...parseArguments(raw), ...said, providerRef };
}

function rejected({ tool, raw }: ScriptCall, providerRef: string, stop: Stop): AnswerPart {
  return { type: 'rejected_call', tool, raw, why: `the answer stopped with ${stop}`, providerRef };
}

/** One bit of text as it is shown while the answer comes. */
interface ScriptDelta {
  readonly part: number;
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

/** The turn's text in order, each part in up to `pieces` bits; characters are never split. */
export function deltasOf(turn: ScriptTurn, pieces: number): ScriptDelta[] {
  return turn.parts.flatMap((part, at): ScriptDelta[] => {
    if ('call' in part) return [];
    const kind = 'text' in part ? 'text' : 'reasoning';
    return split('text' in part ? part.text : part.reasoning, pieces).map((text) => ({
      part: at,
      kind,
      text,
    }));
  });
}

function split(text: string, pieces: number): string[] {
  if (text === '') return [];
  if (pieces === 1) return [text];
  const characters = [...text];
  const size = Math.ceil(characters.length / pieces);
  const bits: string[] = [];
  for (let at = 0; at < characters.length; at += size) bits.push(characters.slice(at, at + size).join(''));
  return bits;
}
