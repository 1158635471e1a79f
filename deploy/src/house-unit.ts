/** One running service of a house, whichever way it runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from './child-env.ts';

/** What is told of a service when it is up. */
export interface UnitLine {
  readonly service: string;
  readonly pid: number;
  /** `http://…`: `/livez`, `/readyz`, `/metrics` */
  readonly health: string;
}

export interface RunningUnit {
  readonly name: string;
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  readonly health: string;
  isReady(): Promise<boolean>;
  /** Sends a signal. Throws where the service has no process of its own. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Lets it finish what it has in hand. */
  stop(): Promise<void>;
  /** Ends it at once. */
  forceStop(): Promise<void>;
  /** @param extra more settings, for this start only */
  restart(extra?: Env): Promise<void>;
}

/** Waits until all say that they are ready. Throws, with the names of those that do not, after `timeoutMs`. */
export async function untilReady(units: Iterable<RunningUnit>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (const unit of units) {
    while (!(await unit.isReady())) {
      if (performance.now() > deadline) throw new Error(`${unit.name} is not ready after ${timeoutMs} ms`);
      await sleep(10);
    }
  }
}

/**
 * Ends units side by side: gracefully until the deadline (by `performance.now()`), then at once.
 * @param failed called for each that could not be ended gracefully; must not throw
 */
export async function endUnits(
  units: readonly RunningUnit[],
  deadline: number,
  failed: (service: string, error: unknown) => void,
): Promise<void> {
  await Promise.all(
    units.map(async (unit) => {
      const late = Promise.withResolvers<never>();
      const left = Math.max(0, deadline - performance.now());
      const timer = setTimeout(() => late.reject(new Error('it takes too long')), left);
      try {
        await Promise.race([unit.stop(), late.promise]);
      } catch (error) {
        failed(unit.name, error);
        await unit.forceStop();
      } finally {
        clearTimeout(timer);
      }
    }),
  );
}
