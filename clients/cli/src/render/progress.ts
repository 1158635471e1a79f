/** Draws a run on stderr: live text, and intent lines that grow in place where the terminal can redraw. */
import type { RuntimeOutput } from '@interlock/runtime';
import type { Terminal } from '../terminal.ts';
import { fits, harmless, harmlessLine } from './harmless.ts';
import { type IntentLine, IntentLines, shortTextOf, textOf } from './intent-lines.ts';

export class Progress {
  readonly #terminal: Terminal;
  readonly #lines = new IntentLines();
  #drawn = 0;
  #inText = false;
  #attempt = 0;
  #held: RuntimeOutput[] | null = null;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Keeps back what comes, while something else has the screen. */
  hold(): void {
    this.settle();
    this.#held ??= [];
  }

  /** Shows what was kept back, and goes on. */
  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const output of held) this.show(output);
  }

  show(output: RuntimeOutput): void {
    if (this.#held) {
      this.#held.push(output);
      return;
    }
    switch (output.type) {
      case 'text.delta':
        if (output.kind === 'text') this.#text(output.text, output.attempt);
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

  #text(text: string, attempt: number): void {
    if (!this.#terminal.redraws) return;
    // Text of an earlier attempt is void, and what was drawn cannot be taken back.
    if (this.#inText && attempt !== this.#attempt) this.settle();
    this.#drawn = 0;
    this.#attempt = attempt;
    this.#inText = true;
    this.#terminal.draw(this.#terminal.paint('dim', harmless(text)));
  }

  #line(output: Extract<RuntimeOutput, { type: 'tool.intent' | 'tool.observation' }>): void {
    const line = this.#lines.apply(output);
    if (this.#terminal.redraws) this.#redraw(line.done ? `  ${markOf(output)} ${plain(textOf(line))}` : null);
    else if (line.done) this.#terminal.note(`  ${plain(textOf(line))}`);
  }

  #above(text: string): void {
    if (this.#terminal.redraws) this.#redraw(text);
    else this.#terminal.note(`  ${text}`);
  }

  /** Replaces the block of open lines by a line that stays, and what is still open. */
  #redraw(lasting: string | null): void {
    if (this.#inText) this.#terminal.draw('\n');
    this.#inText = false;
    const open = this.#lines.open().map((line) => this.#terminal.paint('dim', this.#fit(line)));
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : '';
    const lines = lasting === null ? open : [lasting, ...open];
    this.#terminal.draw(`${up}${lines.map((text) => `${text}\n`).join('')}`);
    this.#drawn = open.length;
  }

  /** An open line must not wrap: going back up counts lines. */
  #fit(line: IntentLine): string {
    const columns = this.#terminal.columns - 1;
    const text = shortTextOf(line, (one) => fits(`  … ${plain(one)}`, columns));
    return harmlessLine(`  … ${plain(text)}`, columns);
  }
}

function plain(text: string): string {
  return harmless(text).replaceAll('\n', ' ');
}

function markOf(output: RuntimeOutput): string {
  return output.type === 'tool.observation' && output.isError ? '✗' : '✓';
}
