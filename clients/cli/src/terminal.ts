/** Where output goes: data on stdout, progress on stderr. Colour only on a terminal and never with `NO_COLOR`. */
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  /** Data: one line to stdout. */
  out(line: string): void;
  /** Progress and set-up: one line to stderr. */
  note(line: string): void;
  /** Raw text to stderr, for lines that grow. */
  draw(text: string): void;
  /** A person can be asked: stdin and stderr are terminals. */
  readonly interactive: boolean;
  /** Lines on stderr may be redrawn. */
  readonly redraws: boolean;
  readonly columns: number;
  paint(style: Style, text: string): string;
}

export function createTerminal(options: { json: boolean }): Terminal {
  const isDumb = process.env.TERM === 'dumb';
  const redraws = process.stderr.isTTY === true && !options.json && !isDumb;
  return {
    out: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    draw: (text) => void process.stderr.write(text),
    interactive: process.stdin.isTTY === true && process.stderr.isTTY === true && !isDumb,
    redraws,
    get columns() {
      return process.stderr.columns ?? 100;
    },
    paint: (style, text) => styleText(style, text, { stream: process.stderr }),
  };
}

/** Whoever read the output has gone (`| head`): there is nobody to tell, and no error. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
}
