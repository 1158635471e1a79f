/** The keys seen last, up to a limit: what a replica remembers is only to spare a repetition, never to be right. */
export class RecentKeys {
  readonly #keys = new Set<string>();
  readonly #limit: number;

  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
    if (this.#keys.size <= this.#limit) return;
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest);
      break;
    }
  }
}
