/** Garbage in inbox lanes: gives the event-store something to append, and must end in exactly one quarantine each. */
import { eventSubject, SYSTEM_SESSION } from '@interlock/contracts';
import { RetryableError } from '@interlock/kit';
import { eventFeed, type RuntimeContext } from '@interlock/runtime';

const SESSION = 'chaos-strays';

export class Strays {
  readonly #client: RuntimeContext;
  readonly #stored: number[] = [];

  constructor(client: RuntimeContext) {
    this.#client = client;
  }

  get count(): number {
    return this.#stored.length;
  }

  async send(): Promise<void> {
    const { bus, tenant } = this.#client;
    const subject = eventSubject({ tenant, session: SESSION, lane: 'u', type: 'user.message' });
    const reply = await bus.request(subject, 'this is no event', { timeoutMs: 5_000 });
    this.#stored.push(reply.json<{ seq: number }>().seq);
  }

  /** Sequences that were quarantined, each as often as it was. */
  async #quarantined(): Promise<ReadonlyMap<number, number>> {
    const { bus, tenant } = this.#client;
    const counts = new Map<number, number>();
    try {
      for await (const { entry } of eventFeed(bus, { tenant, session: SYSTEM_SESSION })) {
        if (entry.type !== 'event.quarantined') continue;
        counts.set(entry.data.seq, (counts.get(entry.data.seq) ?? 0) + 1);
      }
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
    }
    return counts;
  }

  /** Each stray once, and nothing else. Waits for those that are still to come until `deadline` (`performance.now()`). */
  async violations(deadline: number): Promise<string[]> {
    const missing = async (): Promise<number[]> => {
      const counts = await this.#quarantined();
      return this.#stored.filter((seq) => !counts.has(seq));
    };
    while ((await missing()).length > 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 500));
    const counts = await this.#quarantined();
    const own = new Set(this.#stored);
    return [
      ...this.#stored
        .filter((seq) => counts.get(seq) !== 1)
        .map((seq) => `the stray ${seq} was quarantined ${counts.get(seq) ?? 0} times`),
      ...[...counts.keys()].filter((seq) => !own.has(seq)).map((seq) => `${seq} is quarantined and no stray`),
    ];
  }
}
