/** Counts what goes by on the broker and how long one call follows another. */
export interface Sample {
  /** Milliseconds from one model request of a session to the next: one governed call. */
  readonly latencies: readonly number[];
  readonly calls: number;
  readonly seconds: number;
}

export class Meter {
  readonly #last = new Map<string, number>();
  #latencies: number[] = [];
  #from = 0;
  #on = false;

  /** A chain asks for its next call now. */
  tick(chain: string): void {
    const now = performance.now();
    const last = this.#last.get(chain);
    this.#last.set(chain, now);
    if (this.#on && last !== undefined && last >= this.#from) this.#latencies.push(now - last);
  }

  /** The chain ends: the time until its next call is nobody's. */
  end(chain: string): void {
    this.#last.delete(chain);
  }

  start(): void {
    this.#latencies = [];
    this.#from = performance.now();
    this.#on = true;
  }

  stop(): Sample {
    this.#on = false;
    return {
      latencies: this.#latencies,
      calls: this.#latencies.length,
      seconds: (performance.now() - this.#from) / 1000,
    };
  }
}
