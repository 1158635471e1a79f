/**
 * Contents that this process showed or wrote, by hash: so that a refusal can say what changed since.
 * Bounded; what is forgotten only makes a message shorter.
 */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_FILE_BYTES = 2 * 1024 * 1024;

export class SeenContent {
  readonly #texts = new Map<string, string>();
  #bytes = 0;

  remember(sha256: string, text: string): void {
    if (text.length > MAX_FILE_BYTES || this.#texts.has(sha256)) return;
    this.#texts.set(sha256, text);
    this.#bytes += text.length;
    for (const [oldest, known] of this.#texts) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#texts.delete(oldest);
      this.#bytes -= known.length;
    }
  }

  get(sha256: string): string | undefined {
    return this.#texts.get(sha256);
  }
}
