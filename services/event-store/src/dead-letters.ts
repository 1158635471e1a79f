/**
 * Dead letters: deliveries that a service gave up on. The server tells of each by an advisory, which the stream `DLQ`
 * keeps; here it becomes an event, so that whoever waits for the call learns that it goes no further.
 */
import { ALL_EVENTS, codesOf, DURABLES, type ErrorCode, STREAMS } from '@interlock/contracts';
import {
  ack,
  type Consumer,
  type Delivery,
  type Fate,
  readRange,
  runConsumer,
  type ServiceContext,
} from '@interlock/kit';
import { z } from 'zod';
import { recordStray } from './handler.ts';
import { strayOf } from './quarantine.ts';
import type { Registries } from './registries.ts';

/** What the server says. Unknown keys are dropped. */
const advisorySchema = z.object({
  stream: z.string(),
  consumer: z.string(),
  stream_seq: z.int().positive(),
  deliveries: z.int().nonnegative(),
  /** `MSG_TERMINATED` only: what the service said. */
  reason: z.string().optional(),
});
export type Advisory = z.infer<typeof advisorySchema>;

const WIRE = new Set<string>([...codesOf('wire'), 'bad_signature']);

/** The code and the sentence of a dead letter. Pure. The kit writes `<code>: <reason>`. */
export function causeOf({ consumer, deliveries, reason = '' }: Advisory): {
  code: ErrorCode;
  reason: string;
} {
  const code = /^([a-z_]+):/.exec(reason)?.[1] ?? '';
  const why = reason === '' ? '' : `: ${reason}`;
  return {
    code: WIRE.has(code) ? (code as ErrorCode) : 'dead_letter',
    reason: `${consumer} gave up after ${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}${why}`,
  };
}

/** Starts the durable `event-store-dlq`. */
export function startDeadLetters(context: ServiceContext, registries: Registries): Consumer {
  const { bus, logger, metrics } = context;
  const handle = async (delivery: Delivery): Promise<Fate> => {
    const advisory = parseAdvisory(delivery.message.data);
    if (advisory === null) {
      logger.error({ subject: delivery.subject }, 'an advisory that cannot be read');
      return ack;
    }
    const { code, reason } = causeOf(advisory);
    logger.error({ ...advisory, code }, 'dead letter');
    // Timers carry no place in the log: what they were for is looked at again by their owner.
    if (advisory.stream === STREAMS.timers) return ack;
    const [entry] = await readRange(bus, {
      filter: ALL_EVENTS,
      fromSeq: advisory.stream_seq,
      throughSeq: advisory.stream_seq,
    });
    if (entry) await recordStray(registries, strayOf(entry, code, reason));
    return ack;
  };
  return runConsumer(bus, { durable: DURABLES['event-store-dlq'], concurrency: 4, handle, metrics });
}

function parseAdvisory(data: Uint8Array): Advisory | null {
  try {
    const parsed = advisorySchema.safeParse(JSON.parse(Buffer.from(data).toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
