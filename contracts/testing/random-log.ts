/** Random logs for property tests: honest turns, strays, repeats, forgeries, cancels, edits and compactions, mixed. */
import * as fc from 'fast-check';
import {
  callOf,
  EVENT_TYPES,
  EVENTS,
  type EventInput,
  type EventType,
  type LogEntry,
  type ModelPart,
  type Stage,
} from '../src/index.ts';
import { type AppendOptions, LogBuilder } from './log-builder.ts';
import { sample, toolCall } from './samples.ts';
import { modelTurn, startRun, takeCall } from './steps.ts';

const INTENTS = ['a', 'b', 'c', 'constructor', '__proto__'] as const;
const STAGES: readonly Stage[] = [
  'proposed',
  'invalid',
  'asked',
  'allowed',
  'denied',
  'cancelled',
  'started',
  'completed',
  'observed',
];

const KINDS = ['run', 'turn', 'call', 'edit', 'undo', 'compact', 'event', 'junk', 'repeat'] as const;

/** One thing that happens to a log. Numbers are taken modulo what there is to choose from. */
export interface Move {
  readonly kind: (typeof KINDS)[number];
  readonly intent: (typeof INTENTS)[number];
  readonly type: EventType;
  readonly stage: Stage;
  readonly a: number;
  readonly b: number;
  /** A stray chains to nothing, a forgery is signed by nobody who may. */
  readonly fault: 'none' | 'chain' | 'forged' | 'run';
}

export const moveArbitrary: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom(...KINDS, 'turn', 'turn', 'call', 'call', 'call', 'event', 'event'),
  intent: fc.constantFrom(...INTENTS),
  type: fc.constantFrom(...EVENT_TYPES),
  stage: fc.constantFrom(...STAGES),
  a: fc.nat(30),
  b: fc.nat(30),
  fault: fc.oneof(
    { weight: 6, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('chain' as const, 'forged' as const, 'run' as const) },
  ),
});

/** A log of up to `maxMoves` moves. */
export function logArbitrary(maxMoves = 20): fc.Arbitrary<LogBuilder> {
  // Most begin in the middle of a turn: from nothing, most of what is random would only be skipped.
  const begun = fc.integer({ min: 0, max: 4 }).map((dice) => dice > 0);
  const moves = fc.array(moveArbitrary, { maxLength: maxMoves, size: 'max' });
  return fc.tuple(begun, moves).map(([underWay, next]) => {
    const log = new LogBuilder();
    if (underWay) startRun(log);
    if (underWay) modelTurn(log, [toolCall('a'), toolCall('b', 'write_file')]);
    for (const move of next) play(log, move);
    return log;
  });
}

/** Does one move. */
export function play(log: LogBuilder, move: Move): void {
  const { intent, stage, a } = move;
  switch (move.kind) {
    case 'run':
      if (log.state().run) finishRun(log, a);
      else startRun(log);
      break;
    case 'turn':
      if (!log.state().run) startRun(log);
      playTurn(log, move);
      break;
    case 'call':
      takeCall(log, knownCall(log, move), stage);
      break;
    case 'edit':
      playEdit(log, move);
      break;
    case 'undo':
      log.append('tool.intent', sample('tool.intent', { proposer: 'person' }), { intent: 'undo' });
      takeCall(log, 'undo', stage);
      break;
    case 'compact':
      log.append('context.compacted', dataOf(log, { ...move, type: 'context.compacted' }) as never);
      break;
    case 'junk':
      if (a % 2 === 0) log.junk('s');
      else log.junk('i', intent);
      break;
    case 'repeat':
      repeat(log, log.entries[a % Math.max(1, log.seq)]);
      break;
    case 'event':
      log.append(move.type, dataOf(log, move), optionsOf(log, move));
      break;
  }
}

function finishRun(log: LogBuilder, through: number): void {
  log.append('run.finished', sample('run.finished', { throughSeq: Math.min(through, log.seq) }));
}

/** Mostly a call that the log knows. */
function knownCall(log: LogBuilder, { intent, a, b }: Move): string {
  const known = Object.keys(log.state().calls);
  return b % 5 === 0 ? intent : (known[a % Math.max(1, known.length)] ?? intent);
}

function playEdit(log: LogBuilder, move: Move): void {
  const { stage, b } = move;
  const intent = knownCall(log, move);
  const by = `edit-${b % 7}`;
  const supersedes = { intent, answerId: 'x', person: 'ada' };
  takeCall(log, intent, 'asked');
  log.append('tool.approval.denied', sample('tool.approval.denied', { kind: 'superseded', by }), { intent });
  log.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), { intent: by });
  takeCall(log, by, stage);
}

function playTurn(log: LogBuilder, { a, b, intent }: Move): void {
  const others = INTENTS.slice(a % INTENTS.length);
  const calls: ModelPart[] = [intent, ...others]
    .slice(0, b % 4)
    .map((id, index) => toolCall(id, (a + index) % 3 === 0 ? 'write_file' : 'read_file'));
  const said: ModelPart = { type: 'text', text: `turn ${a}` };
  const cut: ModelPart = {
    type: 'rejected_call',
    intent: `cut-${b}`,
    tool: 'bash',
    raw: '{',
    why: 'max_tokens',
    providerRef: 'r',
  };
  if (b % 7 === 0) modelTurn(log, [said, cut], 'max_tokens');
  else modelTurn(log, [said, ...calls]);
}

/** Appends the body of an entry again, chained to the lane as it is now; a client that repeats keeps its id. */
export function repeat(log: LogBuilder, entry: LogEntry | undefined): void {
  if (!entry || entry.type === 'unreadable') return;
  const { id, intent, run, turn } = entry.envelope;
  log.append(entry.type, entry.data as EventInput<EventType>, {
    ...(EVENTS[entry.type].lane === 'u' ? { id } : {}),
    ...(intent === undefined ? {} : { intent }),
    ...(run === undefined ? {} : { run }),
    ...(turn === undefined ? {} : { turn }),
  });
}

function optionsOf(log: LogBuilder, { type, intent, fault, a, b }: Move): AppendOptions {
  const known = log.entries[a % Math.max(1, log.seq)];
  return {
    ...(EVENTS[type].lane === 'i' ? { intent } : {}),
    ...(fault === 'chain' ? { tail: { seq: known?.seq ?? b, hash: known?.hash ?? '0'.repeat(64) } } : {}),
    ...(fault === 'forged' ? { authenticity: 'forged' } : {}),
    ...(fault === 'run' ? { run: 'another' } : {}),
    afterMs: b * 1000 - 5000,
  };
}

function dataOf(log: LogBuilder, move: Move): EventInput<EventType> {
  const { type, intent, a, b } = move;
  const claim = callOf(log.state(), intent)?.claim;
  switch (type) {
    case 'run.started':
      return sample(type, { number: a + 1 });
    case 'run.finished':
      return sample(type, { throughSeq: a, reason: a % 2 === 0 ? 'completed' : 'cancelled' });
    case 'model.requested':
      return sample(type, { throughSeq: Math.min(log.seq, a) });
    case 'model.attempt.started':
    case 'model.message':
      return sample(type, { attempt: 1 + (a % 3) });
    case 'context.compacted':
      return sample(type, {
        replaced: { fromSeq: Math.min(a, b), throughSeq: Math.max(a, b) },
        kept: [{ intent }],
      });
    case 'tool.answer': {
      const asked = callOf(log.state(), intent)?.asked;
      return sample(type, { intent, ...(asked ? { askedId: asked.id } : {}) });
    }
    case 'tool.approval.denied':
      return a % 4 === 0
        ? sample(type, { kind: 'superseded', by: INTENTS[b % INTENTS.length] })
        : sample(type);
    case 'tool.execution.started':
      return sample(type, { epoch: 1 + (a % 3) });
    case 'tool.execution.completed': {
      const claimSeq = [claim?.seq ?? null, null, b + 1][a % 3] ?? null;
      const outcome = (['success', 'refused', 'indeterminate'] as const)[b % 3] ?? 'success';
      return sample(type, { claimSeq, outcome });
    }
    default:
      return sample(type);
  }
}
