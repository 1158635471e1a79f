/** A temporary file for output that does not stay in memory. Removed by `close`. */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ByteSink } from './capture.ts';

export class SpillFile implements ByteSink {
  readonly #path: string;
  readonly #limit: number;
  #descriptor: number | null = null;
  #small: Uint8Array[] = [];
  #written = 0;
  /** True when bytes came that are not kept. */
  full = false;

  /** @param directory one that only this process can enter */
  constructor(directory: string, name: string, limitBytes: number) {
    this.#path = join(directory, name);
    this.#limit = limitBytes;
  }

  write(bytes: Uint8Array): void {
    const part = bytes.subarray(0, this.#limit - this.#written);
    if (part.length < bytes.length) this.full = true;
    if (part.length === 0) return;
    this.#written += part.length;
    if (this.#descriptor === null && this.#written <= IN_MEMORY) {
      this.#small.push(Uint8Array.from(part));
      return;
    }
    // Synchronous on purpose: a program that writes faster than the disk is held back, and order is certain.
    this.#descriptor ??= this.#open();
    writeSync(this.#descriptor, part);
  }

  #open(): number {
    const descriptor = openSync(this.#path, 'wx', 0o600);
    for (const part of this.#small) writeSync(descriptor, part);
    this.#small = [];
    return descriptor;
  }

  /** All bytes kept. */
  read(): Uint8Array {
    return this.#descriptor === null ? Buffer.concat(this.#small) : readFileSync(this.#path);
  }

  close(): void {
    if (this.#descriptor === null) return;
    closeSync(this.#descriptor);
    rmSync(this.#path, { force: true });
    this.#descriptor = null;
  }
}

/** Most outputs never touch the disk. */
const IN_MEMORY = 256 * 1024;
