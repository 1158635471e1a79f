/** The services of a house as processes that are killed and come back, with a count of who died of what. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { House } from '@interlock/deploy';
import type { Failpoint } from '@interlock/kit';

export interface FleetCounts {
  readonly byService: Readonly<Record<string, number>>;
  /** `<service> <failpoint>` */
  readonly failpoints: Readonly<Record<string, number>>;
}

/** A failpoint that is not reached within this time is tried again later. */
const HIT_LIMIT_MS = 20_000;
const POLL_MS = 20;
/** Starts that were killed in turn before one is believed to be impossible. */
const MAX_STARTS = 20;

export class Fleet {
  readonly services: readonly string[];
  readonly #house: House;
  readonly #random = new Map<string, number>();
  readonly #hits = new Map<string, number>();
  /** Services that wait to die at a failpoint: nobody else may kill them. */
  readonly #armed = new Set<string>();
  readonly #starting = new Map<string, Promise<void>>();
  #longestStartMs = 0;

  constructor(house: House) {
    this.#house = house;
    this.services = Object.keys(house.pids());
  }

  /** The longest that a service took to be up again, killed starts in between included. */
  get longestStartMs(): number {
    return this.#longestStartMs;
  }

  get kills(): number {
    return sum(this.#random) + sum(this.#hits);
  }

  counts(): FleetCounts {
    const byService = Object.fromEntries(this.services.map((service) => [service, this.#killsOf(service)]));
    return { byService, failpoints: Object.fromEntries([...this.#hits].sort()) };
  }

  /** Whether a service may be killed now; with `evenStarting`, also one that is not up yet. */
  mayKill(service: string, evenStarting: boolean): boolean {
    const isThere = this.#house.pids()[service] !== undefined && !this.#armed.has(service);
    return isThere && (evenStarting || !this.#starting.has(service));
  }

  /** SIGKILL now; the service is started again at once, without waiting for it here. */
  async kill(service: string): Promise<void> {
    const pid = this.#house.pids()[service];
    if (pid === undefined) return;
    await this.#house.kill(service, 'SIGKILL');
    add(this.#random, service);
    if (!this.#starting.has(service)) void this.#revive(service);
  }

  /** Lets a service die at the nth time that it passes a failpoint. Returns whether it did. */
  async dieAt(service: string, failpoint: Failpoint, nth: number): Promise<boolean> {
    this.#armed.add(service);
    try {
      await this.#starting.get(service);
      await this.#house.restart(service, { INTERLOCK_FAILPOINT: `${failpoint}:${nth}` });
      const pid = this.#house.pids()[service];
      const hit = await this.#isGone(service, pid);
      if (hit) add(this.#hits, `${service} ${failpoint}`);
      // It comes back without the failpoint.
      await this.#revive(service);
      return hit;
    } finally {
      this.#armed.delete(service);
    }
  }

  /** Waits until all are up. */
  async whole(): Promise<void> {
    await Promise.all(this.#starting.values());
    while (!Object.values(await this.#house.health()).every(Boolean)) await sleep(POLL_MS);
  }

  async #isGone(service: string, pid: number | undefined): Promise<boolean> {
    const deadline = performance.now() + HIT_LIMIT_MS;
    while (performance.now() < deadline) {
      if (this.#house.pids()[service] !== pid) return true;
      await sleep(POLL_MS);
    }
    return false;
  }

  #revive(service: string): Promise<void> {
    const starting = this.#restart(service).finally(() => this.#starting.delete(service));
    this.#starting.set(service, starting);
    return starting;
  }

  async #restart(service: string): Promise<void> {
    const begun = performance.now();
    try {
      await this.#startUntilUp(service);
    } finally {
      this.#longestStartMs = Math.max(this.#longestStartMs, performance.now() - begun);
    }
  }

  async #startUntilUp(service: string): Promise<void> {
    for (let start = 1; ; start += 1) {
      try {
        await this.#house.restart(service);
        return;
      } catch (error) {
        // It was killed while it was starting.
        if (start === MAX_STARTS) throw error;
      }
    }
  }

  #killsOf(service: string): number {
    const hits = [...this.#hits].filter(([key]) => key.startsWith(`${service} `));
    return (this.#random.get(service) ?? 0) + sum(new Map(hits));
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
