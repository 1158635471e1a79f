/**
 * A house under load whose services are killed, and what is left of it afterwards.
 *
 * Two hands harm it at once: one kills a random service at random short intervals, the other lets each service die at
 * each failpoint in turn. Both are drawn from the seed; the operating system's timing is not, so two runs of a seed do
 * the same things and not at the same instants.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failpoint } from '@interlock/kit';
import { startTestHouse, type TestHouse } from '../harness/house.ts';
import { Fleet } from './fleet.ts';
import { planSession } from './plan.ts';
import { type PlayedSession, playSession } from './player.ts';
import { Random } from './random.ts';
import { type ChaosReport, reportOf } from './report.ts';
import { readServiceLogs } from './service-logs.ts';
import { Strays } from './strays.ts';
import { verifySession } from './verify.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** Kills, by hand and at failpoints, before the house is left in peace. */
  readonly kills: number;
  readonly nodes: 1 | 3;
  /** Kills of nats-server meanwhile, of one node at a time; not among `kills`. */
  readonly serverKills: number;
  /** Sessions under way at a time. */
  readonly sessions: number;
  /** Mean time between two random kills. */
  readonly gapMs: number;
  /** How long every session may take to come to rest after the last kill. */
  readonly settleMs: number;
  /** Told now and then. */
  readonly progress: (text: string) => void;
}

/** Short, so that what a killed service held is given up while the test still runs. The ack wait of 30 s stays. */
const SHORT_TIMES = {
  INTERLOCK_LEASE_MS: '5000',
  INTERLOCK_LEASE_GRACE_MS: '2000',
  INTERLOCK_WATCH_MS: '2000',
  INTERLOCK_STREAM_CANCEL_MS: '3000',
  INTERLOCK_QUARANTINE_GRACE_MS: '3000',
};
/** How often the failpoints that were not reached are tried again, less one. */
const ROUNDS = 3;
const SERVICES = ['event-store', 'provider-gateway', 'validator', 'policy-engine', 'observer'];
const EXECUTORS = ['executor-fs', 'executor-shell'];

/** Every failpoint of every service. Only executors have effects. */
export const FAILPOINT_PLAN: readonly (readonly [service: string, failpoint: Failpoint])[] = [
  ...[...SERVICES, ...EXECUTORS].flatMap((service) =>
    (['before-append', 'after-append', 'before-ack'] as const).map(
      (failpoint) => [service, failpoint] as const,
    ),
  ),
  ...EXECUTORS.flatMap((service) =>
    (['before-effect', 'after-effect'] as const).map((failpoint) => [service, failpoint] as const),
  ),
];

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  // What processes leave behind that were killed is removed with this folder.
  const temporary = await mkdtemp(join(tmpdir(), 'interlock-chaos-'));
  // Services start often: what was compiled once is kept.
  const own = { NODE_COMPILE_CACHE: join(temporary, 'compiled') };
  try {
    const house = await startTestHouse({
      mode: 'processes',
      nats: options.nodes,
      logLevel: 'info',
      env: { ...SHORT_TIMES, TMPDIR: temporary },
      serviceEnv: Object.fromEntries([...SERVICES, ...EXECUTORS].map((service) => [service, own])),
    });
    try {
      return await new Chaos(house, options).run();
    } finally {
      await house.stop();
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

type Four = [Random, Random, Random, Random];

class Chaos {
  readonly #house: TestHouse;
  readonly #options: ChaosOptions;
  readonly #fleet: Fleet;
  readonly #played: PlayedSession[] = [];
  readonly #missed: string[] = [];
  readonly #failures: string[] = [];
  readonly #started = performance.now();
  #opened = 0;
  #told = 0;
  #serverKills = 0;
  #isHarming = true;
  #isVisiting = true;

  constructor(house: TestHouse, options: ChaosOptions) {
    this.#house = house;
    this.#options = options;
    this.#fleet = new Fleet(house.house);
  }

  async run(): Promise<ChaosReport> {
    const { seed, sessions, settleMs } = this.#options;
    const random = new Random(seed);
    const people = { first: await this.#house.client('ada'), second: await this.#house.client('bob') };
    const strays = new Strays(people.first);
    const [loadRandom, killRandom, failRandom, serverRandom] = [0, 1, 2, 3].map(() => random.fork()) as Four;
    const bound = new AbortController();
    const players = Array.from({ length: sessions }, () => this.#play(people, loadRandom, bound.signal));
    await Promise.all([
      this.#killAtRandom(killRandom),
      this.#visitFailpoints(failRandom, strays),
      this.#killServers(serverRandom),
    ]);
    this.#isHarming = false;
    const harmedMs = performance.now() - this.#started;
    this.#tell('no more kills; waiting for every session to come to rest');
    await this.#fleet.whole();
    const timer = setTimeout(() => bound.abort(), settleMs);
    await Promise.all(players);
    clearTimeout(timer);
    const settledMs = performance.now() - this.#started - harmedMs;
    this.#tell('at rest; looking at every log');
    const verified = [];
    for (const played of this.#played) verified.push(await verifySession(people.first, played));
    const report = reportOf({
      options: this.#options,
      counts: this.#fleet.counts(),
      serverKills: this.#serverKills,
      missed: this.#missed,
      failures: this.#failures,
      verified,
      strays: { sent: strays.count, violations: await strays.violations(performance.now() + settleMs) },
      logs: await readServiceLogs(this.#house.stateDir),
      seconds: {
        harmed: harmedMs / 1000,
        settled: settledMs / 1000,
        longestStart: this.#fleet.longestStartMs / 1000,
      },
    });
    for (const { workspace } of this.#played) await rm(workspace, { recursive: true, force: true });
    return report;
  }

  /** One session after another while there is harm. */
  async #play(people: Parameters<typeof playSession>[0], random: Random, signal: AbortSignal): Promise<void> {
    while (this.#isHarming) {
      this.#opened += 1;
      const plan = planSession(this.#opened, random.fork());
      try {
        this.#played.push(await playSession(people, plan, signal));
      } catch (error) {
        this.#failures.push(`${plan.name}: the client failed: ${String(error)}`);
      }
    }
  }

  async #killAtRandom(random: Random): Promise<void> {
    const { kills, gapMs } = this.#options;
    while (this.#fleet.kills < kills || this.#isVisiting) {
      await sleep(random.between(0, gapMs * 2));
      // Drawn from all, so that one that is spared just now does not bring more harm to the others.
      const service = random.pick(this.#fleet.services);
      const evenStarting = random.chance(0.2);
      if (this.#fleet.mayKill(service, evenStarting)) await this.#fleet.kill(service);
      this.#tellEvery(20);
    }
  }

  /** A server is killed and comes back on what it had stored, at the same address. */
  async #killServers(random: Random): Promise<void> {
    const { nats } = this.#house;
    for (let count = 0; count < this.#options.serverKills; count += 1) {
      await sleep(random.between(2_000, 10_000));
      const node = random.between(0, this.#options.nodes - 1);
      await nats.kill(node);
      await sleep(random.between(100, 1_500));
      await nats.restart(node);
      this.#serverKills += 1;
    }
  }

  /** Each service dies at each of its failpoints once; what was not reached is tried again. Services side by side. */
  async #visitFailpoints(random: Random, strays: Strays): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const visits = Map.groupBy(this.#unvisited(), ([service]) => service);
      await Promise.all(
        [...visits.values()].map((own) =>
          this.#visit(own, { nth: random.between(1, ROUNDS - round), strays }),
        ),
      );
    }
    this.#missed.push(...this.#unvisited().map(([service, failpoint]) => `${service} ${failpoint}`));
    this.#isVisiting = false;
  }

  #unvisited(): typeof FAILPOINT_PLAN {
    const hits = this.#fleet.counts().failpoints;
    return FAILPOINT_PLAN.filter(([service, failpoint]) => !hits[`${service} ${failpoint}`]);
  }

  async #visit(visits: typeof FAILPOINT_PLAN, how: { nth: number; strays: Strays }): Promise<void> {
    for (const [service, failpoint] of visits) {
      const dying = this.#fleet.dieAt(service, failpoint, how.nth);
      // The event-store appends only when there is something to say.
      const feeding = service === 'event-store' ? this.#feed(how.strays, dying) : null;
      await dying;
      await feeding;
    }
  }

  async #feed(strays: Strays, until: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = until.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await strays.send();
      await Promise.race([over, sleep(500)]);
    }
  }

  #tellEvery(kills: number): void {
    const reached = Math.floor(this.#fleet.kills / kills);
    if (reached === this.#told) return;
    this.#told = reached;
    this.#tell('harming');
  }

  #tell(text: string): void {
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(0).padStart(4);
    this.#options.progress(
      `${seconds} s  ${text}; ${this.#fleet.kills} kills, ${this.#opened} sessions opened, ${this.#played.length} ended`,
    );
  }
}
