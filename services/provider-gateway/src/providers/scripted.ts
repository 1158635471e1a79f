/**
 * The scripted provider: a model like any other, without a key and the same on every run. Its turns come from the
 * script of the session; which one answers is picked from the fold.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stop } from '@interlock/contracts';
import {
  type Failure,
  isRetryable,
  type Provider,
  type ProviderEvent,
  type ProviderRequest,
} from '../provider.ts';
import { type ParsedScript, parseScript, type ScriptTurn } from './script.ts';
import { answerParts, chooseTurn, deltasOf, type ScriptChoice, stopOf } from './script-turn.ts';

export interface ScriptedOptions {
  /** Reads the script's bytes; throws a kit `RetryableError` where they cannot be read now. */
  readonly load: (tenant: string, uri: string) => Promise<Uint8Array>;
}

/** Into how many bits a text is cut where it comes slowly or is broken off. */
const PIECES = 4;
/** Scripts kept parsed. */
const KEPT = 50;

export function createScriptedProvider({ load }: ScriptedOptions): Provider {
  const parsed = new Map<string, ParsedScript>();
  const scriptOf = async (tenant: string, uri: string): Promise<ParsedScript> => {
    const key = `${tenant} ${uri}`;
    const known = parsed.get(key);
    if (known) return known;
    const script = parseScript(Buffer.from(await load(tenant, uri)).toString('utf8'));
    if (parsed.size >= KEPT) parsed.clear();
    parsed.set(key, script);
    return script;
  };
  return {
    name: 'scripted',
    async *stream(request, signal) {
      const { uri } = request.script;
      if (uri === null) {
        yield invalid('the session names no script');
        return;
      }
      const script = await scriptOf(request.tenant, uri);
      if (!script.ok) {
        yield invalid(script.message);
        return;
      }
      const choice = chooseTurn(script.script, { ...request, ...request.script });
      if (choice.ok) yield* play(choice, request, signal);
      else yield fail('script_no_match', choice.message, { scriptUnused: choice.unused });
    },
  };
}

function invalid(message: string): Failure {
  return fail('script_invalid', message, {});
}

function fail(
  category: Failure['category'],
  message: string,
  more: Partial<Pick<Failure, 'scriptUnused' | 'retryAfterMs' | 'partial' | 'usage' | 'retryable'>>,
): Failure {
  return {
    type: 'failure',
    category,
    message,
    retryable: isRetryable(category),
    partial: '',
    usage: null,
    costUsd: null,
    ...more,
  };
}

type Chosen = Extract<ScriptChoice, { ok: true }>;

async function* play(
  { turn, index, unused }: Chosen,
  request: ProviderRequest,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent> {
  const deltas = deltasOf(turn, turn.delayMs > 0 || turn.cut ? PIECES : 1);
  const shown = turn.cut ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas;
  const waitMs = turn.delayMs / (shown.length + 1);
  let partial = '';
  for (const delta of shown) {
    if (!(await waited(waitMs, signal))) break;
    if (delta.kind === 'text') partial += delta.text;
    yield { type: 'delta', ...delta };
  }
  const usage = turn.usage ?? null;
  if (!(await waited(waitMs, signal))) {
    yield fail('model_cancelled', 'the request was cancelled', { partial, usage, scriptUnused: unused });
    return;
  }
  const ending = endingOf(turn, index);
  if ('failure' in ending) {
    yield { ...ending.failure, partial, usage, scriptUnused: unused };
    return;
  }
  yield {
    type: 'message',
    parts: answerParts(turn, index, ending.stop),
    stop: ending.stop,
    nativeStop: ending.stop,
    usage,
    costUsd: null,
    model: request.model,
    requestId: null,
    scriptUnused: unused,
  };
}

function endingOf(turn: ScriptTurn, index: number): { failure: Failure } | { stop: Stop } {
  const { error, cut } = turn;
  if (error) {
    const wait = error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs };
    return { failure: fail(error.category, `turns[${index}] fails with ${error.category}`, wait) };
  }
  if (cut)
    return { failure: fail('stream_truncated', `turns[${index}] is cut before its terminal event`, {}) };
  const stop = stopOf(turn);
  if (stop === 'cancelled')
    return { failure: fail('model_cancelled', `turns[${index}] stops as cancelled`, {}) };
  if (stop === 'error')
    return { failure: fail('internal', `turns[${index}] stops with an error`, { retryable: false }) };
  return { stop };
}

/** Waits; false when the signal was aborted before or meanwhile. */
async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (ms <= 0) return true;
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
