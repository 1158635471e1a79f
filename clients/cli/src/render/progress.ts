/** Draws a run on stderr: live text, and intent lines that grow in place where the terminal can redraw. */
import { stripVTControlCharacters } from 'node:util';
import type { RuntimeOutput } from '@interlock/runtime';
import type { Terminal } from '../terminal.ts';
import { IntentLines } from './intent-lines.ts';

export class Progress {
  readonly #terminal: Terminal;
  readonly #lines = new IntentLines();
  #drawn = 0;
  #inText = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(output: RuntimeOutput): void {
    switch (output.type) {
      case 'text.delta':
        if (output.kind === 'text') this.#text(output.text);
        return;
      case 'tool.intent':
      case 'tool.observation':
        this.#line(output);
        return;
      case 'error':
        this.#above(this.#terminal.paint('yellow', `${output.code}: ${harmless(output.message)}`));
        return;
      case 'approval.asked':
      case 'status':
        return;
    }
  }

  /** Ends the block of growing lines, so that a prompt or the answer can follow. */
  settle(): void {
    if (this.#inText) this.#terminal.draw('\n');
    this.#inText = false;
    this.#drawn = 0;
  }

  #text(text: string): void {
    if (!this.#terminal.redraws) return;
    if (this.#drawn > 0) this.#drawn = 0;
    this.#terminal.draw(harmless(text));
    this.#inText = true;
  }

  #line(output: Extract<RuntimeOutput, { type: 'tool.intent' | 'tool.observation' }>): void {
    const line = this.#lines.apply(output);
    if (!this.#terminal.redraws) {
      if (line.done) this.#terminal.note(`  ${harmless(line.text)}`);
      return;
    }
    const finished = line.done ? [line] : [];
    this.#redraw(finished.map(({ text }) => text));
  }

  #above(text: string): void {
    if (this.#terminal.redraws) this.#redraw([], text);
    else this.#terminal.note(`  ${text}`);
  }

  /** Replaces the block of open lines by the finished lines, a note, and what is still open. */
  #redraw(finished: readonly string[], note?: string): void {
    if (this.#inText) this.#terminal.draw('\n');
    this.#inText = false;
    const open = this.#lines.open().map(({ text }) => this.#terminal.paint('dim', this.#fit(`  … ${text}`)));
    const done = finished.map((text) => this.#fit(`  ✓ ${text}`));
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : '';
    const lines = [...done, ...(note === undefined ? [] : [note]), ...open];
    this.#terminal.draw(`${up}${lines.map((text) => `${text}\n`).join('')}`);
    this.#drawn = open.length;
  }

  #fit(text: string): string {
    const clean = harmless(text).replaceAll('\n', ' ');
    return clean.length <= this.#terminal.columns - 1
      ? clean
      : `${clean.slice(0, this.#terminal.columns - 2)}…`;
  }
}

/** Text from models and tools may hold control sequences; a terminal must not obey them. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/(?![\n\t])\p{Cc}/gu, '');
}
