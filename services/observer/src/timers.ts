import { parseTimerSubject } from '@interlock/contracts';
import { ack, type Delivery, type Fate } from '@interlock/kit';
import { onDeadline } from './deadline.ts';
import type { Ports } from './ports.ts';
import { onSecondLook, onWatch } from './watch.ts';

/** Fired timers of the observer. They carry no place in the log: each handler folds to the present end. */
export async function handleTimer(
  ports: Ports,
  { subject, traceparent }: Pick<Delivery, 'subject' | 'traceparent'>,
): Promise<Fate> {
  const timer = parseTimerSubject(subject);
  if (!timer) return ack;
  const { kind, tenant, session, id } = timer;
  const ref = { tenant, session };
  const cause = { id: undefined, traceparent };
  switch (kind) {
    case 'watch':
      if (id === session) await onWatch(ports, ref, cause);
      else await onSecondLook(ports, ref, { intent: id, cause });
      return ack;
    case 'deadline':
      await onDeadline(ports, ref, { runId: id, cause });
      return ack;
    case 'approval':
    case 'stream-cancel':
      // Not the observer's, or not in use: a cancel is delivered again until its run is finished.
      return ack;
  }
}
