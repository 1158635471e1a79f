/**
 * The laws of the turn loop, for any interleaving of people, models, tools, repeated deliveries and two observers.
 *
 * L1. Exactly one observation per call.
 * L2. A run finishes, or waits for a person and for nothing else.
 * L3. No message is lost: a request takes it, or a cancel that came after it, or the end of the session.
 * L4. No request while calls are open: an observer never appends what the fold would skip.
 * L5. Each request names the context that a gateway folds.
 */
import { openCalls } from '@interlock/contracts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Actors } from '../test/model-actors.ts';
import { type Choose, World } from '../test/model-world.ts';

/** First the choices that were given, so that a failure shrinks; then pseudo-random ones. */
function chooser(given: readonly number[], seed: number): Choose {
  let at = 0;
  let state = seed + 1;
  return (n) => {
    if (at < given.length) return (given[at++] ?? 0) % n;
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
}

const STEPS = 5000;
/** Time in which nothing changes though timers fire: whoever is waited for then is a person. */
const IDLE_MS = 400_000;

async function play(given: readonly number[], seed: number): Promise<World> {
  const world = new World(chooser(given, seed));
  const actors = new Actors(world, 1 + world.choose(6));
  let changedAt = world.now;
  for (let step = 0; step < STEPS && world.now - changedAt < IDLE_MS; step++) {
    const moves = actors.moves();
    const { seq } = world.log;
    world.now += 20;
    if (moves.length > 0 && (world.isQuiet() || world.choose(3) === 0)) moves[world.choose(moves.length)]?.();
    else if (!(await world.step()) && !(await world.skip())) break;
    if (world.log.seq > seq) changedAt = world.now;
  }
  check(world, actors);
  return world;
}

function check(world: World, actors: Actors): void {
  const { state, log } = world;
  const story = (): string =>
    log.entries.map((entry) => `${entry.seq} ${entry.subject.slice(19)}`).join('\n');
  expect(world.faults, story()).toEqual([]);

  const waits = actors.isWaitingForPeople();
  for (const call of Object.values(state.calls)) {
    const observed = log.entries.filter(({ subject }) =>
      subject.endsWith(`.${call.intent}.tool.observation`),
    );
    if (!waits) expect(observed, `observations of ${call.intent}\n${story()}`).toHaveLength(1);
    expect(observed.length).toBeLessThanOrEqual(1);
  }

  if (!waits) expect(state.run, story()).toBeNull();
  if (waits) expect(openCalls(state).length, story()).toBeGreaterThan(0);
  if (!state.run && !state.closed) expect(state.pending, story()).toEqual([]);

  for (const entry of log.entries) {
    if (entry.type !== 'user.message') continue;
    const { seq } = entry;
    const isTaken = log.entries.some(
      (later) => later.type === 'model.requested' && later.seq > seq && later.data.throughSeq >= seq,
    );
    const isTakenBack = log.entries.some(
      (later) => later.seq > seq && (later.type === 'run.cancel' || later.type === 'session.closed'),
    );
    const isPending = state.pending.some((message) => message.seq === seq);
    const wasClosed = world.states[seq - 1]?.closed === true;
    expect(isTaken || isTakenBack || isPending || wasClosed, `message ${seq}\n${story()}`).toBe(true);
  }
}

test('holds for random histories', async () => {
  const choices = fc.array(fc.nat(1000), { maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(choices, fc.nat(), async (given, seed) => void (await play(given, seed))),
    { numRuns: Number(process.env.INTERLOCK_MODEL_RUNS ?? 150) },
  );
}, 120_000);

test('the model reaches what it is meant to reach', async () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 80; seed++) {
    const { log } = await play([], seed);
    for (const entry of log.entries) {
      if (entry.type === 'run.finished') seen.add(`finished ${entry.data.reason}`);
      else if (entry.type === 'tool.observation')
        seen.add(`observed ${entry.data.ending}${entry.data.insteadOf ? ' instead' : ''}`);
      else if (entry.type === 'model.requested') seen.add(`requested ${entry.data.because}`);
      else if (entry.type === 'tool.cancelled') seen.add(`cancelled ${entry.data.reason}`);
    }
  }
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      'cancelled expired',
      'cancelled run_cancelled',
      'finished budget',
      'finished cancelled',
      'finished completed',
      'finished length',
      'finished max_turns',
      'finished model_failed',
      'finished refused',
      'observed cancelled',
      'observed denied',
      'observed failed',
      'observed indeterminate',
      'observed invalid',
      'observed refused',
      'observed success',
      'observed success instead',
      'requested compaction',
      'requested next_turn',
      'requested pause',
    ]),
  );
}, 120_000);
