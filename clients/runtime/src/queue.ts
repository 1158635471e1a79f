/** An unbounded hand-over between a producer that pushes and one consumer that iterates. */
export class AsyncQueue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #wake: (() => void) | null = null;
  #ended = false;
  #error: unknown = null;

  push(item: Item): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** No more items; with an error the consumer throws it after the items before it. */
  end(error: unknown = null): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    while (true) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#ended) break;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    if (this.#error) throw this.#error;
  }
}
