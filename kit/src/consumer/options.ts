import { type Durable, STREAMS } from '@interlock/contracts';
import type { Verifier } from '../decode.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Delivery, Fate } from './delivery.ts';

export interface ConsumerOptions {
  readonly durable: Durable;
  /** Whose signatures are checked. Default: none. */
  readonly verifier?: Verifier | undefined;
  /** Deliveries in hand at most. Default 8. */
  readonly concurrency?: number | undefined;
  /** Deliveries of one key are handled one after another. Default: tenant and session of the subject. */
  readonly key?: ((delivery: Delivery) => string) | undefined;
  /** Decides the fate of a delivery. May throw; may be called again for the same message. */
  readonly handle: (delivery: Delivery) => Promise<Fate>;
  /** For a message of `EV` that is no readable event. Default: ack, since the event-store quarantines it. */
  readonly handleUnreadable?: ((delivery: Delivery) => Promise<Fate>) | undefined;
  /** How often the server is told that a delivery is worked on. Default a third of the ack wait. */
  readonly heartbeatMs?: number | undefined;
  /** Wait after the first unexpected failure of a message; doubled with each. Default 250. */
  readonly bugDelayMs?: number | undefined;
  readonly metrics?: Metrics | undefined;
  /** Default: the bus's. */
  readonly logger?: Logger | undefined;
}

/** True when the durable delivers events; timers and dead letters are none. */
export function isLog(durable: Durable): boolean {
  return durable.stream.startsWith(STREAMS.events);
}
