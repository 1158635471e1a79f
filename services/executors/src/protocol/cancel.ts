/** `ctl.v1.<tenant>.<session>.cancel`: stop the calls it names. Lossy; the observer repeats it until the fact is there. */
import { cancelControlV1, controlSubject } from '@interlock/contracts';
import type { Bus } from '@interlock/kit';
import type { RunningCalls } from './running.ts';

/** Listens until `stop`. */
export function listenForCancel(bus: Bus, running: RunningCalls): { stop(): void } {
  const subscription = bus.nc.subscribe(controlSubject.cancel('*', '*'), {
    callback: (error, message) => {
      if (error) {
        bus.logger.error({ error: error.message }, 'cannot listen for cancels');
        return;
      }
      const [, , tenant = '', session = ''] = message.subject.split('.');
      const control = cancelControlV1.safeParse(jsonOf(message.string()));
      if (control.success) running.cancel(tenant, session, control.data.intents);
      else bus.logger.warn({ subject: message.subject }, 'a cancel that cannot be read');
    },
  });
  return { stop: () => subscription.unsubscribe() };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no control.
    return null;
  }
}
