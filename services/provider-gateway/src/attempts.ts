/**
 * The attempts of one request.
 *
 * T1. Each attempt is claimed in the log before the call is made.
 * T2. No text of one attempt is ever joined to another's.
 * T3. Every wait is an event; every request ends in one message or one failure, or is left to who took it over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACK_WAIT_MS, liveSubject, type ModelMessageV1, type StoredEventOf } from '@interlock/contracts';
import { messageOf, RetryableError } from '@interlock/kit';
import { type Cancellable, isStopping } from './cancel.ts';
import type { Plan } from './decide.ts';
import { deriveIntents } from './derive.ts';
import type { House } from './house.ts';
import { nameCalls } from './intents.ts';
import { createLiveText, type LiveText } from './live.ts';
import type { Answer, Failure, Provider, ProviderRequest } from './provider.ts';
import type { RequestJournal } from './request-journal.ts';
import { afterFailure } from './retry.ts';

interface AttemptJob {
  readonly house: House;
  readonly requested: StoredEventOf<'model.requested'>;
  readonly provider: Provider;
  readonly plan: Extract<Plan, { kind: 'call' }>;
  readonly journal: RequestJournal;
  readonly traceparent: string;
}

/** `settled`: the request has its end. `look_again`: the log went on otherwise; decide anew. */
type Ended = 'settled' | 'look_again';

export async function answerRequest(job: AttemptJob): Promise<Ended> {
  const { envelope } = job.requested;
  const cancel = job.house.cancels.open(envelope, envelope.id);
  try {
    for (let attempt = job.plan.attempt; ; attempt++) {
      const ended = await tryOnce(job, attempt, cancel);
      if (ended !== 'retry') return ended;
    }
  } finally {
    cancel.close();
  }
}

async function tryOnce(job: AttemptJob, attempt: number, cancel: Cancellable): Promise<Ended | 'retry'> {
  const { house, requested, provider, journal } = job;
  const worker = house.writer.instance;
  const claimed = await journal.claim({
    attempt,
    worker,
    provider: provider.name,
    model: requested.data.model,
  });
  if (!claimed) return lookAgain(job, attempt - 1);
  const startedAt = performance.now();
  const outcome = await callProvider(job, attempt, cancel.signal);
  if (isStopping(cancel.signal) && outcome.type === 'failure') {
    throw new RetryableError('internal', 'the gateway stops; another replica takes the request up', {
      delayMs: 0,
    });
  }
  if (outcome.type === 'failure') return failed(job, attempt, outcome, cancel.signal);
  return answered(job, attempt, outcome, performance.now() - startedAt);
}

async function callProvider(
  job: AttemptJob,
  attempt: number,
  signal: AbortSignal,
): Promise<Answer | Failure> {
  const { house, requested, provider } = job;
  const live = openLive(house, requested, attempt);
  try {
    for await (const event of provider.stream(toProviderRequest(job), signal)) {
      if (event.type !== 'delta') return event;
      live.push(event);
    }
    throw new Error(`provider ${provider.name} ended without an outcome`);
  } catch (error) {
    if (error instanceof RetryableError) throw error;
    const { name, stack } = error instanceof Error ? error : new Error(messageOf(error));
    house.bus.logger.error(
      { requestId: requested.envelope.id, error: name, stack },
      'the provider adapter failed',
    );
    return {
      type: 'failure',
      category: 'internal',
      message: `${name} in the adapter of ${provider.name}`,
      ...NOTHING,
    };
  } finally {
    live.close();
  }
}

const NOTHING = { retryable: false, partial: '', usage: null, costUsd: null } as const;

function openLive({ bus }: House, { envelope }: StoredEventOf<'model.requested'>, attempt: number): LiveText {
  const subject = liveSubject.of(envelope.tenant, envelope.session, 'text', envelope.id);
  return createLiveText({
    attempt,
    send: (chunk) => {
      // The client would hold it in memory without bound.
      if (bus.connected()) bus.nc.publish(subject, JSON.stringify(chunk));
    },
  });
}

function toProviderRequest({ house, requested, plan, journal }: AttemptJob): ProviderRequest {
  const { tenant } = requested.envelope;
  const state = journal.state();
  const { opened, run, request } = state;
  return {
    tenant,
    model: requested.data.model,
    maxOutputTokens: opened?.model.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS,
    run: run?.number ?? 0,
    turn: request?.turn ?? 0,
    context: plan.context,
    definitions: (tools) => house.catalog.find(tenant, requested.seq, tools),
    script: { uri: opened?.model.script ?? null, unused: state.scriptUnused, skip: request?.retries ?? 0 },
  };
}

const DEFAULT_OUTPUT_TOKENS = 8192;

async function answered(job: AttemptJob, attempt: number, answer: Answer, latencyMs: number): Promise<Ended> {
  const { house, requested, provider, journal, traceparent } = job;
  const { costUsd, model, nativeStop, requestId, scriptUnused, stop, usage, unknown } = answer;
  if (unknown)
    house.bus.logger.warn(
      { requestId: requested.envelope.id, unknown },
      'the provider sent what is not known',
    );
  const message: ModelMessageV1 = {
    attempt,
    provider: provider.name,
    model,
    contextSnapshotId: requested.data.contextSnapshotId,
    parts: nameCalls(answer.parts, () => house.ids.ulid()),
    stop,
    nativeStop,
    usage,
    costUsd,
    latencyMs: Math.round(latencyMs),
    requestId,
    ...(scriptUnused ? { scriptUnused: [...scriptUnused] } : {}),
  };
  let messageId: string | null;
  try {
    messageId = await journal.settle(attempt, 'model.message', message);
  } catch (error) {
    if (error instanceof RetryableError) throw error;
    // Too large, or nothing that the log can hold. Asking again would bring the same.
    const why = `the answer cannot be recorded: ${messageOf(error).slice(0, 200)}`;
    return giveUp(job, attempt, {
      ...answer,
      type: 'failure',
      category: 'internal',
      message: why,
      retryable: false,
      partial: '',
    });
  }
  if (messageId === null) return lookAgain(job, attempt);
  await deriveIntents(house, journal.state(), message, { requested, messageId, traceparent });
  return 'settled';
}

async function failed(
  job: AttemptJob,
  attempt: number,
  failure: Failure,
  signal: AbortSignal,
): Promise<Ended | 'retry'> {
  const { config, random } = job.house;
  const policy = {
    maxAttempts: config.modelMaxAttempts,
    backoffMs: config.modelBackoffMs,
    maxWaitMs: config.modelMaxWaitMs,
  };
  const next = afterFailure(failure, attempt, policy, random());
  if (next.kind === 'fail') return giveUp(job, attempt, failure);
  const { category, message, usage } = failure;
  const retrying = { attempt, category, message, waitMs: next.waitMs, usage };
  if ((await job.journal.settle(attempt, 'model.retrying', retrying)) === null)
    return lookAgain(job, attempt);
  if (await waited(next.waitMs, signal)) return 'retry';
  if (isStopping(signal)) throw new RetryableError('internal', 'the gateway stops', { delayMs: 0 });
  const cancelled = {
    category: 'model_cancelled',
    message: 'cancelled while it waited for another attempt',
  } as const;
  return giveUp(job, attempt, { ...failure, ...cancelled, partial: '', usage: null, costUsd: null });
}

async function giveUp(job: AttemptJob, attempt: number, failure: Failure): Promise<Ended> {
  const { category, message, retryAfterMs, partial, usage, costUsd, scriptUnused } = failure;
  const stored = await job.journal.settle(attempt, 'model.failed', {
    category,
    message,
    attempts: attempt,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    partial,
    usage,
    costUsd,
    ...(scriptUnused ? { scriptUnused: [...scriptUnused] } : {}),
  });
  return stored === null ? lookAgain(job, attempt) : 'settled';
}

/**
 * The log went on without this worker, whose newest attempt is `own`. Where another replica has claimed one since, it is
 * at work now, and no second call is made beside it.
 */
function lookAgain({ requested, journal }: AttemptJob, own: number): 'look_again' {
  const { request } = journal.state();
  const taken = request?.id === requested.envelope.id && (request.attempt?.number ?? 0) > own;
  if (taken)
    throw new RetryableError('lane_conflict', 'another replica makes the call', { delayMs: ACK_WAIT_MS });
  return 'look_again';
}

/** Waits; false when the request was cancelled meanwhile. */
async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
