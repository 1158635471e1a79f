/** Laws of the fold that hold for any log whatever. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holds } from '../../testing/holds.ts';
import {
  canonicalJson,
  LogBuilder,
  modelTurn,
  sample,
  startRun,
  takeCall,
  toolCall,
} from '../../testing/index.ts';
import { logArbitrary, moveArbitrary, play, repeat } from '../../testing/random-log.ts';
import { EVENTS } from '../registry.ts';
import type { LogEntry, StoredEvent } from '../stored-event.ts';
import { evolve, fold } from './evolve.ts';
import { judge } from './judge.ts';
import { callOf } from './lookup.ts';
import { type ContextPart, projectContext } from './project.ts';
import { openCalls, runnable, standing } from './schedule.ts';
import { type ConversationState, initialState, type Stage } from './state.ts';

const start = (): ConversationState => initialState('local', 'demo');
const TOOLS = { tools: [] };

/** The entries that count, in order. */
function legal(log: LogBuilder): StoredEvent[] {
  const counted: StoredEvent[] = [];
  let state = start();
  for (const entry of log.entries) {
    if (entry.type !== 'unreadable' && judge(state, entry).legal) counted.push(entry);
    state = evolve(state, entry);
  }
  return counted;
}

/** JSON and nothing else: no `undefined`, no NaN, no prototype of its own. */
function expectPlain(value: unknown): void {
  if (typeof value === 'object' && value !== null) {
    if (!Array.isArray(value)) expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    for (const item of Object.values(value)) expectPlain(item);
  } else {
    expect(value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)).toBe(
      true,
    );
  }
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

describe('fold', () => {
  test('in two parts equals at once', () => {
    holds(
      fc.property(logArbitrary(), fc.nat(200), (log, at) => {
        const first = fold(start(), log.entries.slice(0, at));
        expect(fold(first, log.entries.slice(at))).toEqual(log.state());
      }),
    );
  });

  test('delivering again changes nothing', () => {
    holds(
      fc.property(logArbitrary(), fc.nat(200), (log, back) => {
        let state = start();
        for (const entry of log.entries) {
          state = evolve(state, entry);
          expect(evolve(state, entry)).toBe(state);
          const earlier = log.entries[back % entry.seq];
          if (earlier) expect(evolve(state, earlier)).toBe(state);
        }
      }),
    );
  });

  test('folded again it is the same, byte for byte, and plain JSON', () => {
    holds(
      fc.property(logArbitrary(), (log) => {
        const state = log.state();
        expect(canonicalJson(log.state(log.seq))).toBe(canonicalJson(state));
        expectPlain(state);
      }),
    );
  });

  test('changes no state and no entry that it was given', () => {
    holds(
      fc.property(logArbitrary(), (log) => {
        let state = deepFreeze(start());
        for (const entry of deepFreeze(log.entries.slice())) state = deepFreeze(evolve(state, entry));
        deepFreeze(projectContext(state, TOOLS));
      }),
    );
  });

  test('is total for entries that no reader would make', () => {
    const scramble = fc.record({ from: fc.nat(), seq: fc.nat(60), chained: fc.boolean() });
    holds(
      fc.property(logArbitrary(), fc.array(scramble, { maxLength: 40 }), (log, changes) => {
        let state = start();
        for (const [index, change] of changes.entries()) {
          const entry = log.entries[index % Math.max(1, log.seq)];
          const other = log.entries[change.from % Math.max(1, log.seq)];
          if (!entry || !other) return;
          state = evolve(state, scrambled(state, entry, other, change));
          expect(openCalls(state).length).toBeGreaterThanOrEqual(0);
          expect(runnable(state).length).toBeGreaterThanOrEqual(0);
          expect(projectContext(state, TOOLS).length).toBeGreaterThanOrEqual(2);
        }
        expectPlain(state);
      }),
    );
  });
});

/** An entry with the type and data of one and the place of another. */
function scrambled(
  state: ConversationState,
  entry: LogEntry,
  other: LogEntry,
  { seq, chained }: { seq: number; chained: boolean },
): LogEntry {
  const place = { seq: state.throughSeq + (seq % 3), subject: other.subject };
  if (entry.type === 'unreadable' || other.type === 'unreadable') return { ...entry, ...place };
  const { journal } = state;
  const chain = chained ? { prevseq: journal.tail.seq, prevhash: journal.tail.hash } : {};
  return { ...entry, ...place, envelope: { ...entry.envelope, ...other.envelope, ...chain } } as LogEntry;
}

describe('an intent, whatever is appended in whatever order', () => {
  const FACTS = [
    'tool.validation_failed',
    'tool.approval.denied',
    'tool.cancelled',
    'tool.execution.completed',
  ];
  /** What the house appends next to a call that stands at a stage. */
  const NEXT: Partial<Record<Stage, Stage>> = {
    declared: 'proposed',
    proposed: 'validated',
    validated: 'allowed',
    asked: 'denied',
    allowed: 'started',
    started: 'completed',
  };

  function check(log: LogBuilder): void {
    const lanes = Map.groupBy(
      legal(log).filter(({ type }) => EVENTS[type].lane === 'i'),
      ({ envelope }) => envelope.intent,
    );
    for (const events of lanes.values()) {
      const types = events.map(({ type }) => type);
      const claimed = types.indexOf('tool.execution.started');
      const allowed = types.indexOf('tool.approval.allowed');
      if (claimed >= 0) expect(allowed >= 0 && allowed < claimed).toBe(true);
      if (allowed >= 0) expect(types.indexOf('tool.validated')).toBeLessThan(allowed);
      expect(types.filter((type) => FACTS.includes(type)).length).toBeLessThanOrEqual(1);
      expect(types.filter((type) => type === 'tool.approval.allowed').length).toBeLessThanOrEqual(1);
      const observed = types.indexOf('tool.observation');
      if (observed >= 0) expect(observed).toBe(types.length - 1);
    }
  }

  test('is executed only when allowed, ends once and is observed once', () => {
    holds(fc.property(logArbitrary(40), check), { numRuns: 200 });
  });

  test('a shuffled lane, each message several times', () => {
    const ways: Stage[] = ['observed', 'invalid', 'denied', 'asked', 'cancelled', 'started'];
    holds(
      fc.property(
        fc.constantFrom(...ways),
        fc.infiniteStream(fc.nat(50)),
        fc.integer({ min: 5, max: 120 }),
        (way, picks, length) => {
          const honest = new LogBuilder();
          startRun(honest);
          modelTurn(honest, [toolCall('a')]);
          takeCall(honest, 'a', way);
          const lane = honest.entries.filter(({ subject }) => subject.includes('.i.a.'));

          const log = new LogBuilder();
          startRun(log);
          modelTurn(log, [toolCall('a')]);
          for (const pick of picks.take(length)) repeat(log, lane[pick % lane.length]);
          check(log);
          finish(log);
          check(log);
          expect(legal(log).filter(({ type }) => type === 'tool.observation')).toHaveLength(1);
          expect(openCalls(log.state())).toEqual([]);
        },
      ),
    );
  });

  /** Plays the house: whatever the lane holds, its next legal step, to the end. */
  function finish(log: LogBuilder): void {
    for (let step = 0; step < 10; step += 1) {
      const call = callOf(log.state(), 'a');
      const stage = call?.stage ?? 'observed';
      if (stage === 'observed') return;
      const next = NEXT[stage];
      if (!next) log.append('tool.observation', sample('tool.observation'), { intent: 'a' });
      else if (next === 'completed') {
        const claimSeq = call?.claim?.seq ?? null;
        log.append('tool.execution.completed', sample('tool.execution.completed', { claimSeq }), {
          intent: 'a',
        });
      } else takeCall(log, 'a', next);
    }
    throw new Error('the call did not end in ten steps');
  }

  test('what stands for a call is found in finite time and is never superseded by what exists', () => {
    holds(
      fc.property(logArbitrary(40), (log) => {
        const state = log.state();
        for (const call of Object.values(state.calls)) {
          const { supersededBy } = standing(state, call);
          expect(supersededBy === null || callOf(state, supersededBy) === undefined).toBe(true);
        }
      }),
    );
  });
});

describe('one answer per request', () => {
  test('no message without a claimed attempt, none twice', () => {
    holds(
      fc.property(logArbitrary(40), (log) => {
        let open = false;
        let claimed = 0;
        for (const event of legal(log)) {
          if (event.type === 'model.requested') [open, claimed] = [true, 0];
          if (event.type === 'model.attempt.started') claimed = event.data.attempt;
          if (event.type === 'run.finished') open = false;
          if (event.type !== 'model.message') continue;
          expect(open && claimed === event.data.attempt).toBe(true);
          open = false;
        }
      }),
    );
  });
});

describe('context', () => {
  test('P1: what was appended later does not show', () => {
    holds(
      fc.property(logArbitrary(40), fc.array(fc.nat(200), { minLength: 1, maxLength: 8 }), (log, points) => {
        const later = log.state();
        projectContext(later, TOOLS);
        for (const point of points) {
          const throughSeq = point % (log.seq + 1);
          expect(projectContext(later, { ...TOOLS, throughSeq })).toEqual(
            projectContext(log.state(throughSeq), TOOLS),
          );
        }
      }),
      { numRuns: 120 },
    );
  });

  test('P2: every call has exactly one result, in its order, right after the message that made it', () => {
    holds(
      fc.property(logArbitrary(40), (log) => {
        const parts = projectContext(log.state(), TOOLS);
        for (const [index, part] of parts.entries()) {
          if (part.kind === 'assistant') expect(resultsAfter(parts, index)).toEqual(callsOf(part));
          if (part.kind === 'results') expect(parts[index - 1]?.kind).toBe('assistant');
        }
      }),
    );
  });

  test('P3: a message that came while the model answered stands after the answer', () => {
    holds(
      fc.property(fc.array(moveArbitrary, { maxLength: 15 }), fc.nat(2), (moves, messages) => {
        const log = new LogBuilder();
        for (const move of moves) play(log, move);
        if (!log.state().run) startRun(log);
        if (log.state().request) return;
        log.append('model.requested', sample('model.requested', { throughSeq: log.seq }));
        for (let index = 0; index <= messages; index += 1)
          log.append('user.message', sample('user.message', { text: `late ${index}` }));
        log.append('model.attempt.started', sample('model.attempt.started'));
        log.append('model.message', sample('model.message'));
        const state = log.state();
        if (state.closed) return;
        const parts = projectContext(state, TOOLS);
        const answered = parts.findLastIndex(({ kind }) => kind === 'assistant');
        expect(parts.slice(answered + 1).map(({ kind }) => kind)).toEqual(Array(messages + 1).fill('user'));
      }),
    );
  });
});

function callsOf(part: ContextPart & { kind: 'assistant' }): string[] {
  return part.parts.flatMap((item) =>
    item.type === 'tool_call' || item.type === 'rejected_call' ? [item.intent] : [],
  );
}

function resultsAfter(parts: readonly ContextPart[], index: number): string[] {
  const next = parts[index + 1];
  return next?.kind === 'results' ? next.results.map(({ intent }) => intent) : [];
}

test('random logs hold what the laws are about', () => {
  const seen = new Set<string>();
  for (const log of fc.sample(logArbitrary(40), { numRuns: 200, seed: 1 }))
    for (const { type } of legal(log)) seen.add(type);
  for (const type of [
    'tool.execution.started',
    'tool.execution.completed',
    'tool.observation',
    'context.compacted',
  ])
    expect(seen).toContain(type);
});
