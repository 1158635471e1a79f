/** What the server says of a durable consumer. */
import { STREAMS } from '@interlock/contracts';
import type { Bus } from '@interlock/kit';

export interface ConsumerInfo {
  readonly name: string;
  /** When it was made, as an instant. */
  readonly created: string;
  /** Delivered and not settled. */
  readonly num_ack_pending: number;
  /** Delivered more than once, of those. */
  readonly num_redelivered: number;
  /** Not delivered yet. */
  readonly num_pending: number;
  /** `consumer_seq` counts deliveries, repeats too. */
  readonly delivered: { readonly consumer_seq: number; readonly stream_seq: number };
}

/** @param operator a connection that may look at consumers */
export async function consumersOf(operator: Bus): Promise<readonly ConsumerInfo[]> {
  const subject = `$JS.API.CONSUMER.LIST.${STREAMS.events}`;
  const reply = await operator.request(subject, '{}', { timeoutMs: 5000 });
  return reply.json<{ consumers: ConsumerInfo[] }>().consumers;
}

export async function consumerOf(operator: Bus, name: string): Promise<ConsumerInfo> {
  const found = (await consumersOf(operator)).find((consumer) => consumer.name === name);
  if (!found) throw new Error(`there is no consumer ${name}`);
  return found;
}

/** True when all that there is has been delivered to the consumer and settled. */
export function isIdle({ num_ack_pending: held, num_pending: waiting }: ConsumerInfo): boolean {
  return held === 0 && waiting === 0;
}
