/**
 * Keeps what is provisioned: what goes missing while the house runs is made again, at once where the server tells of
 * it. What somebody changed is reported and left until the next start, so that two versions of the event-store do not
 * undo one another's settings for ever.
 */
import { type Bus, messageOf } from '@interlock/kit';
import { describeDrift } from './drift.ts';
import { logReport, type ProvisionReport } from './provision.ts';

export interface ReconcileOptions {
  readonly bus: Bus;
  readonly everyMs: number;
  /** Makes what is missing. */
  readonly provisionMissing: () => Promise<ProvisionReport>;
}

/** Advisories of the server on what was deleted. */
const DELETED = ['$JS.EVENT.ADVISORY.STREAM.DELETED.>', '$JS.EVENT.ADVISORY.CONSUMER.DELETED.>'];

export function startReconciling({ bus, everyMs, provisionMissing }: ReconcileOptions): {
  stop(): Promise<void>;
} {
  let running: Promise<void> = Promise.resolve();
  let waiting = false;
  let told = '';

  const look = async (): Promise<void> => {
    waiting = false;
    try {
      const report = await provisionMissing();
      const left = report.drift.filter((line) => line.kind !== 'missing');
      // The same drift is told once, not at each look.
      const text = [
        ...left.map(describeDrift),
        ...report.created,
        ...report.refused.map(({ why }) => why),
      ].join('\n');
      if (text !== told) logReport(bus, report, 'create');
      told = text;
    } catch (error) {
      bus.logger.warn({ error: messageOf(error) }, 'cannot look at what is provisioned');
    }
  };
  const again = (): void => {
    if (waiting) return;
    waiting = true;
    running = running.then(look);
  };

  const timer = setInterval(again, everyMs);
  const subscriptions = DELETED.map((subject) => bus.nc.subscribe(subject, { callback: again }));
  return {
    async stop() {
      clearInterval(timer);
      for (const subscription of subscriptions) subscription.unsubscribe();
      await running;
    },
  };
}
