import { RetryableError } from '@interlock/kit';

export interface Patience {
  /** How long failures in a row are borne. */
  readonly limitMs: number;
  /** Ends the waiting; the last failure is then thrown. */
  readonly signal?: AbortSignal | undefined;
}

const PAUSE_MS = 250;

/** Does something that a service may not be there for just now: tries again until it works or the time is up. */
export async function patiently<Result>(
  act: () => Promise<Result>,
  { limitMs, signal }: Patience,
): Promise<Result> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const isOver = signal?.aborted || performance.now() > deadline;
      if (!(error instanceof RetryableError) || isOver) throw error;
      await pause(signal);
    }
  }
}

function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, PAUSE_MS);
    signal?.addEventListener('abort', end, { once: true });
  });
}
