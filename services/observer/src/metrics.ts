import type { Metrics } from '@interlock/kit';
import { Counter } from 'prom-client';

/** What the observer counts beyond what every service does. */
export interface ObserverMetrics {
  readonly observations: Counter<'ending'>;
  readonly runsFinished: Counter<'reason'>;
  /** Claims that the observer ended because their holder was gone. */
  readonly abandoned: Counter;
}

export function createObserverMetrics({ registry }: Pick<Metrics, 'registry'>): ObserverMetrics {
  const registers = [registry];
  return {
    observations: new Counter({
      name: 'interlock_observations_total',
      help: 'Observations by how the call ended.',
      labelNames: ['ending'],
      registers,
    }),
    runsFinished: new Counter({
      name: 'interlock_runs_finished_total',
      help: 'Finished runs by reason.',
      labelNames: ['reason'],
      registers,
    }),
    abandoned: new Counter({
      name: 'interlock_claims_abandoned_total',
      help: 'Claims ended as indeterminate because their holder was gone.',
      registers,
    }),
  };
}
