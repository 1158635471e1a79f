/** Tasks of one key run one after another, in the order they came; tasks of different keys run side by side. */
export class KeyQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `task` after those of its key. It must not reject. */
  run(key: string, task: () => Promise<void>): Promise<void> {
    const before = this.#tails.get(key);
    const done = (before === undefined ? task() : before.then(task)).then(() => {
      if (this.#tails.get(key) === done) this.#tails.delete(key);
    });
    this.#tails.set(key, done);
    return done;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
