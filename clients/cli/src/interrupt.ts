import type { Session } from '@interlock/runtime';
import { EXIT } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * The first interrupt cancels the run and waits for its honest end; the second one leaves at once.
 * @returns `fire` does what a signal does; `release` stops listening
 */
export function cancelOnInterrupt(
  session: Pick<Session, 'cancel'>,
  terminal: Terminal,
): { fire(): void; release(): void } {
  let asked = false;
  const fire = (): void => {
    if (asked) process.exit(EXIT.interrupted);
    asked = true;
    terminal.note('cancelling; interrupt again to leave at once');
    session.cancel().catch((error: unknown) => terminal.note(`the cancel is not stored: ${String(error)}`));
  };
  for (const signal of SIGNALS) process.on(signal, fire);
  return {
    fire,
    release() {
      for (const signal of SIGNALS) process.off(signal, fire);
    },
  };
}
