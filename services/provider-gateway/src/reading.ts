import { messageOf, RetryableError, TerminalError } from '@interlock/kit';

/** Waits for something that is read from the log; where it cannot be read now, that is for a later delivery. */
export async function reading<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof TerminalError) throw error;
    throw new RetryableError('nats_unreachable', `the log cannot be read now: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
