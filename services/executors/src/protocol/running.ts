/** The calls that this process is at, and those whose effect it has begun. */
import type { StopReason } from '../tools/tool.ts';

export interface RunningCall {
  readonly tenant: string;
  readonly session: string;
  readonly intent: string;
  readonly signal: AbortSignal;
  /** Stops the call; the first reason counts. */
  stop(reason: StopReason): void;
}

/** Calls remembered after their end: a redelivery of an older one is told by its lane. */
const MAX_BEGUN = 10_000;

export class RunningCalls {
  readonly #running = new Map<string, RunningCall>();
  readonly #begun = new Set<string>();

  has(key: string): boolean {
    return this.#running.has(key);
  }

  hasBegun(key: string): boolean {
    return this.#begun.has(key);
  }

  /** The key of a call. */
  static keyOf({ tenant, session, intent }: Pick<RunningCall, 'tenant' | 'session' | 'intent'>): string {
    return `${tenant}.${session}.${intent}`;
  }

  start(address: Pick<RunningCall, 'tenant' | 'session' | 'intent'>): RunningCall {
    const controller = new AbortController();
    const call: RunningCall = {
      ...address,
      signal: controller.signal,
      stop: (reason) => {
        if (!controller.signal.aborted) controller.abort(reason);
      },
    };
    this.#running.set(RunningCalls.keyOf(address), call);
    return call;
  }

  /** The effect begins: whatever comes, the call is not run again by this process on the same claim. */
  begin(call: RunningCall): void {
    this.#begun.add(RunningCalls.keyOf(call));
    if (this.#begun.size <= MAX_BEGUN) return;
    for (const oldest of this.#begun) {
      this.#begun.delete(oldest);
      return;
    }
  }

  end(call: RunningCall): void {
    this.#running.delete(RunningCalls.keyOf(call));
  }

  /** Stops the calls of a session that are named. */
  cancel(tenant: string, session: string, intents: readonly string[]): void {
    for (const intent of intents)
      this.#running.get(RunningCalls.keyOf({ tenant, session, intent }))?.stop('cancelled');
  }

  stopAll(reason: StopReason): void {
    for (const call of this.#running.values()) call.stop(reason);
  }
}
