import { ConnectionError, NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';

/** The broker is away or slow (a change of leader): no fault of what was asked of it, so it may be asked again. */
export function isOutage(error: unknown): boolean {
  return [TimeoutError, RequestError, NoRespondersError, ConnectionError].some(
    (kind) => error instanceof kind,
  );
}
