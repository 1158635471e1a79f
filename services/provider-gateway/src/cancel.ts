/** Requests under way, and the control messages that end them. Every replica hears each one; who has the request acts. */
import { cancelControlV1, controlSubject } from '@interlock/contracts';
import type { Bus } from '@interlock/kit';

/** A request that is being answered. */
export interface Cancellable {
  /** Aborted by a control message, or because the service stops. */
  readonly signal: AbortSignal;
  close(): void;
}

export interface Cancels {
  open(at: { readonly tenant: string; readonly session: string }, requestId: string): Cancellable;
  /** Ends all requests under way, for another replica to take them up: `isStopping` tells it from a cancel. */
  abandon(): void;
  stop(): void;
}

const STOPPING = Symbol('stopping');

/** True when the signal was aborted because the service stops. */
export function isStopping(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason === STOPPING;
}

export function watchCancels(bus: Bus): Cancels {
  const open = new Map<string, AbortController>();
  let stopping = false;
  const subscription = bus.nc.subscribe(controlSubject.cancel('*', '*'), {
    callback: (error, message) => {
      if (error !== null) {
        bus.logger.error({ error: error.message }, 'control messages cannot be heard');
        return;
      }
      const control = parse(message.data);
      // The subject names the session, so that nobody's message ends a request of another tenant.
      if (control?.requestId !== undefined) open.get(keyOf(message.subject, control.requestId))?.abort();
    },
  });
  return {
    open({ tenant, session }, requestId) {
      const key = keyOf(controlSubject.cancel(tenant, session), requestId);
      const controller = new AbortController();
      if (stopping) controller.abort(STOPPING);
      open.set(key, controller);
      return {
        signal: controller.signal,
        close: () => {
          if (open.get(key) === controller) open.delete(key);
        },
      };
    },
    abandon() {
      stopping = true;
      for (const controller of open.values()) controller.abort(STOPPING);
    },
    stop: () => subscription.unsubscribe(),
  };
}

function keyOf(subject: string, requestId: string): string {
  return `${subject} ${requestId}`;
}

function parse(data: Uint8Array): { requestId?: string | undefined } | null {
  try {
    return cancelControlV1.safeParse(JSON.parse(Buffer.from(data).toString('utf8'))).data ?? null;
  } catch {
    // Not JSON: nobody of the house said that.
    return null;
  }
}
