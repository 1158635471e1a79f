import type { EventInput, EventType, LaneAddress } from '@interlock/contracts';
import type { Clock, Ids } from './clock.ts';
import type { Metrics } from './metrics.ts';
import type { Signer } from './signing.ts';

/** An event to append. */
export interface EventDraft<Type extends EventType = EventType> {
  readonly type: Type;
  readonly data: EventInput<Type>;
  readonly run?: string | undefined;
  readonly turn?: number | undefined;
  /** Id of the event that caused it. */
  readonly causationid?: string | undefined;
  readonly traceparent?: string | undefined;
  /** Default: a new ULID. Give it where a second try must be recognised. */
  readonly id?: string | undefined;
}

/** A draft of any one type. */
export type AnyDraft = { [Type in EventType]: EventDraft<Type> }[EventType];

/** The first event after a place in a lane, as far as a writer must know it to find its own. */
export interface ReadBack {
  readonly seq: number;
  readonly nonce: string | null;
}

/** Who appends. A service has one. */
export interface Writer {
  /** The envelope's `source` is `interlock/<service>/<instance>`. */
  readonly service: string;
  readonly instance: string;
  /** Needed for signed types. */
  readonly signer?: Signer | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics?: Metrics | undefined;
  /**
   * How to look up the first event of a lane after a sequence; null when there is none. Default: `MSG.GET` at the
   * leader. A writer whose account may not read `EV` gives its own. May throw; the append then counts as unconfirmed.
   */
  readonly readBack?: ((lane: LaneAddress, afterSeq: number) => Promise<ReadBack | null>) | undefined;
}
