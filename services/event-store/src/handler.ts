/**
 * Judges every stored message once and records those that count for nothing.
 *
 * H1. Exactly one `event.quarantined` per stray: the registry that records it says so before each append, and the
 *     append compares with what was read.
 * H2. A delivery is acknowledged after its stray is on record, never before.
 * H3. One delivery at a time, in stream order: folds need no reads then (`ordered-fold.ts`).
 */
import {
  type ConversationState,
  DURABLES,
  evolve,
  evolveRegistry,
  initialRegistry,
  initialState,
  type LogEntry,
  laneFilter,
  type RegistryState,
  sessionFilter,
} from '@interlock/contracts';
import {
  ack,
  type Consumer,
  type Delivery,
  type Fate,
  readRange,
  runConsumer,
  type ServiceContext,
  type Verifier,
} from '@interlock/kit';
import { DeliveryWindow, type FoldKey, OrderedFold } from './ordered-fold.ts';
import { foldableAddress, misplaced, type Stray, strayInRegistry, strayInSession } from './quarantine.ts';
import { type Registries, registryLane } from './registries.ts';

/** Deliveries pulled ahead; they are handled one by one, each in well under a millisecond. */
const PREFETCH = 64;

/** Starts the durable `event-store`. */
export function startJudging(context: ServiceContext, registries: Registries): Consumer {
  const { bus, keys, metrics } = context;
  const verifier: Verifier = { keys, types: 'all' };
  const judged = createJudge({ verifier, bus });
  const handle = async (delivery: Delivery): Promise<Fate> => {
    const stray = await judged(delivery.entry);
    if (stray !== null && (await recordStray(registries, stray))) {
      delivery.logger.warn(
        { seq: stray.data.seq, code: stray.data.code, reason: stray.data.reason },
        'quarantined',
      );
    }
    return ack;
  };
  return runConsumer(bus, {
    durable: DURABLES['event-store'],
    verifier,
    concurrency: PREFETCH,
    key: () => 'log',
    handle,
    handleUnreadable: handle,
    metrics,
  });
}

/** Records a stray unless it is on record. @returns whether it was recorded now */
export async function recordStray(registries: Registries, { tenant, data }: Stray): Promise<boolean> {
  const recorded = await registries.settle(tenant, (state) =>
    state.quarantined.includes(data.seq) ? null : { type: 'event.quarantined', data },
  );
  return recorded !== null;
}

interface JudgeOptions {
  readonly bus: ServiceContext['bus'];
  readonly verifier: Verifier;
}

/** Judges entries of `EV`, which must come one at a time. Null: it counts. */
function createJudge({ bus, verifier }: JudgeOptions): (entry: LogEntry) => Promise<Stray | null> {
  const window = new DeliveryWindow();
  const reader =
    (filterOf: (key: FoldKey) => string) =>
    (key: FoldKey, fromSeq: number, throughSeq: number): Promise<LogEntry[]> =>
      readRange(bus, { filter: filterOf(key), fromSeq, throughSeq }, verifier);
  const sessions = new OrderedFold<ConversationState>({
    window,
    initial: ({ tenant, session }) => initialState(tenant, session),
    evolve,
    read: reader(({ tenant, session }) => sessionFilter(tenant, session)),
  });
  const registries = new OrderedFold<RegistryState>({
    window,
    initial: ({ tenant }) => initialRegistry(tenant),
    evolve: evolveRegistry,
    read: reader(({ tenant }) => laneFilter(registryLane(tenant))),
  });
  return async (entry) => {
    window.note(entry.seq);
    const address = foldableAddress(entry.subject);
    if (address === null) return misplaced(entry);
    if (address.lane === 'sys') return strayInRegistry(await registries.step(address, entry), entry);
    return strayInSession(await sessions.step(address, entry), entry);
  };
}
