/** Timers: message schedules in `TM`. They carry no place in the log, and fire again rather than not. */
import { type TimerAddress, timerSubject } from '@interlock/contracts';
import { headers } from '@nats-io/transport-node';
import { canonicalJson } from './canonical.ts';
import type { Bus } from './connection.ts';
import { publishConfirmed } from './lane/publish.ts';

/**
 * Sets a timer; setting it again replaces it. It is delivered on `timerSubject.fired`, at once when `at` has passed.
 * Precision is about a quarter of a second.
 * @throws AppendUnconfirmedError when the server does not confirm it within 20 seconds
 */
export async function setTimer(bus: Bus, timer: TimerAddress, at: Date): Promise<void> {
  const head = headers();
  head.set('Nats-Schedule', `@at ${at.toISOString()}`);
  head.set('Nats-Schedule-Target', timerSubject.fired(timer));
  const bytes = Buffer.from(canonicalJson({ ...timer, at: at.toISOString() }));
  await publishConfirmed(bus, { subject: timerSubject.schedule(timer), bytes, headers: head });
}
