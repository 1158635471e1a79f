/**
 * Getting a fact into the log, whatever becomes of the connection meanwhile.
 *
 * F1. Bytes that the fact refers to are stored before it is.
 * F2. The claim is the fencing token: the fact is appended only while the claim is the last step that counts. A stray
 *     behind it is passed over; anything else has taken the claim away, and the fact becomes evidence beside the lane.
 * F3. What is not confirmed at once lies on disk, and the next start of this executor goes on with it.
 */
import type { LaneTail } from '@interlock/contracts';
import {
  append,
  appendSide,
  type Bus,
  type Logger,
  putArtifact,
  RetryableError,
  type Writer,
} from '@interlock/kit';
import { viewLane } from './lane-view.ts';
import type { PendingFact, Spool } from './spool.ts';

export interface SettleOptions {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly spool: Spool;
  readonly leaseMs: number;
  readonly logger: Logger;
  /** Aborted when the executor stops: what is on disk then stays there. */
  readonly stopping: AbortSignal;
}

/** An append that takes longer is written to disk beside it. */
const SPOOL_AFTER_MS = 250;
const RETRY_MS = 500;
const RECONNECT_WAIT_MS = 5000;
/** How long a stopping executor waits for a log that it is connected to. */
const STOP_WAIT_MS = 3000;

/** `stored`: the log has the fact. `late`: it has evidence of it. `spooled`: it is on disk, and the executor stops. */
export type Settlement = 'stored' | 'late' | 'spooled';

/** Appends a fact. Rejects only for a fact that can never be appended. */
export async function settleFact(options: SettleOptions, fact: PendingFact): Promise<Settlement> {
  const { bus, logger, stopping } = options;
  const copy = new SpooledCopy(options, fact);
  const lateId = options.writer.ids.ulid();
  for (let tail = fact.tail; ; ) {
    if (!bus.connected()) await copy.write();
    const timer = setTimeout(() => void copy.write(), SPOOL_AFTER_MS);
    const leave = copy.leaveOn(stopping);
    try {
      const outcome = await Promise.race([tryOnce(options, fact, { tail, lateId }), leave.left]);
      if (typeof outcome === 'string') {
        clearTimeout(timer);
        if (outcome !== 'spooled') await copy.remove();
        return outcome;
      }
      // Refused where the lane ends: another append is on its way.
      if (outcome.seq === tail.seq) await pause(stopping);
      tail = outcome;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await copy.write();
      logger.warn({ code: error.code, why: error.message, fact: fact.id }, 'a fact waits on disk');
      await bus.whenConnected(RECONNECT_WAIT_MS);
      await pause(stopping);
    } finally {
      clearTimeout(timer);
      leave.forget();
    }
  }
}

/** The copy of a fact on disk, made when it is first needed. */
class SpooledCopy {
  readonly #options: SettleOptions;
  readonly #fact: PendingFact;
  #written: Promise<boolean> | null = null;

  constructor(options: SettleOptions, fact: PendingFact) {
    this.#options = options;
    this.#fact = fact;
  }

  /** Never rejects: a disk that is full must not keep the fact out of the log. */
  async write(): Promise<void> {
    this.#written ??= this.#options.spool.write(this.#fact).then(
      () => true,
      (error: unknown) => {
        this.#options.logger.error({ err: error, fact: this.#fact.id }, 'a fact cannot be written to disk');
        this.#written = null;
        return false;
      },
    );
    await this.#written;
  }

  async remove(): Promise<void> {
    if (await this.#written) await this.#options.spool.remove(this.#fact);
  }

  /** `left` resolves when the executor stops and the fact is on disk, so that nobody needs to wait for the log. */
  leaveOn(stopping: AbortSignal): { readonly left: Promise<'spooled'>; forget(): void } {
    const { promise: left, resolve } = Promise.withResolvers<'spooled'>();
    let timer: NodeJS.Timeout | undefined;
    const leave = async (): Promise<void> => {
      await this.write();
      if (await this.#written) resolve('spooled');
    };
    const onStop = (): void => {
      // With a connection the append is a matter of moments.
      timer = setTimeout(() => void leave(), this.#options.bus.connected() ? STOP_WAIT_MS : 0);
    };
    if (stopping.aborted) onStop();
    else stopping.addEventListener('abort', onStop, { once: true });
    return {
      left,
      forget() {
        clearTimeout(timer);
        stopping.removeEventListener('abort', onStop);
      },
    };
  }
}

/** Where the lane is taken to end, and the id of the evidence should the fact come late. */
interface Try {
  readonly tail: LaneTail;
  readonly lateId: string;
}

/** One try. A tail: the lane has moved on by strays, try again there. */
async function tryOnce(
  options: SettleOptions,
  fact: PendingFact,
  { tail, lateId }: Try,
): Promise<Settlement | LaneTail> {
  const { bus, writer, leaseMs } = options;
  const { lane, pool, id, data, run, turn, causationid, traceparent } = fact;
  await storeAttachments(bus, lane.tenant, fact);
  const draft = { type: 'tool.execution.completed', data, id, run, turn, causationid, traceparent } as const;
  const appended = await append(bus, writer, { ...lane, lane: 'i', pool }, tail, draft);
  if (appended.ok) return 'stored';
  const view = await viewLane(bus, lane, leaseMs);
  if (view.step?.id === id) return 'stored';
  if (view.step?.seq === fact.claimSeq) return view.tail;
  await tellLate(options, fact, { id: lateId, step: view.step?.type ?? 'nothing' });
  return 'late';
}

async function storeAttachments(bus: Bus, tenant: string, { attachments }: PendingFact): Promise<void> {
  await Promise.all(attachments.map(({ ref, bytes }) => putArtifact(bus, tenant, bytes, ref)));
}

async function tellLate(
  { bus, writer, logger }: SettleOptions,
  fact: PendingFact,
  { id, step }: { readonly id: string; readonly step: string },
): Promise<void> {
  const { lane, data, run, turn, causationid, traceparent } = fact;
  const why = `the claim was taken away: the lane is at ${step}`;
  logger.warn({ intent: lane.intent, step }, 'a fact came late');
  await appendSide(bus, writer, lane, {
    type: 'execution.late',
    data: { intent: lane.intent, why, fact: data },
    ...{ id, run, turn, causationid, traceparent },
  });
}

/** Appends what an earlier start left on disk. */
export async function settleSpooled(options: SettleOptions): Promise<void> {
  const { spool, logger } = options;
  const facts = await spool.list((name, why) =>
    logger.error({ name, why }, 'a spooled fact that does not count'),
  );
  for (const fact of facts) {
    try {
      const outcome = await settleFact(options, fact);
      if (outcome === 'spooled') return;
      await spool.remove(fact);
      logger.info({ intent: fact.lane.intent, outcome }, 'a spooled fact was settled');
    } catch (error) {
      logger.error(
        { err: error, intent: fact.lane.intent },
        'a spooled fact cannot be appended; it stays on disk',
      );
    }
  }
}

function pause(stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, RETRY_MS);
    stopping.addEventListener('abort', done, { once: true });
  });
}
