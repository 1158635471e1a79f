/**
 * Keeping a claim alive. The claim itself carries the first lease, so a short call writes nothing.
 *
 * E1. Time is measured from before a renewal is sent, by a clock that nobody sets.
 * E2. When the lease has run out without a renewal that was confirmed, the call is stopped: somebody else may hold it.
 */

export interface LeaseOptions {
  readonly leaseMs: number;
  /** When the claim was made, by `performance.now()`, taken before it was sent. */
  readonly claimedAt: number;
  /** Renews for `leaseMs`; rejects when that was not confirmed. */
  readonly renew: () => Promise<void>;
  /** Called once, when the lease is lost. */
  readonly onLost: () => void;
  readonly onFailure: (error: unknown) => void;
}

export interface Lease {
  stop(): void;
}

/** Renews every third of the lease until it is stopped or lost. */
export function keepLease({ leaseMs, claimedAt, renew, onLost, onFailure }: LeaseOptions): Lease {
  const step = leaseMs / 3;
  let validUntil = claimedAt + leaseMs;
  let stopped = false;
  let renewal: NodeJS.Timeout;
  let end: NodeJS.Timeout;

  const stop = (): void => {
    stopped = true;
    clearTimeout(renewal);
    clearTimeout(end);
  };
  const guard = (): void => {
    clearTimeout(end);
    end = setTimeout(
      () => {
        if (stopped) return;
        stop();
        onLost();
      },
      Math.max(0, validUntil - performance.now()),
    );
  };
  const beat = (): void => {
    const sentAt = performance.now();
    renew().then(
      () => {
        if (stopped) return;
        validUntil = sentAt + leaseMs;
        guard();
        plan(sentAt);
      },
      (error: unknown) => {
        if (stopped) return;
        onFailure(error);
        plan(performance.now());
      },
    );
  };
  const plan = (from: number): void => {
    renewal = setTimeout(beat, Math.max(0, from + step - performance.now()));
  };
  guard();
  plan(claimedAt);
  return { stop };
}
