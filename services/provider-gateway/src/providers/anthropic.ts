/**
 * The Messages API through its SDK, read as raw events: the SDK's accumulating helpers repair what must not be repaired.
 *
 * M1. No retry, no key, no address and no header comes from the SDK's own configuration or the environment.
 * M2. Neither key nor prompt is logged, traced or put into an error.
 */
import Anthropic, { APIConnectionError, APIError } from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import { Stream } from '@anthropic-ai/sdk/streaming';
import type { ToolDefinition } from '@interlock/contracts';
import { costUsd } from '../prices.ts';
import type { Answer, Failure, Provider, ProviderEvent, ProviderRequest } from '../provider.ts';
import { brokenOff, toOutcome } from './anthropic-answer.ts';
import { classifyError, messageOfBody, typeOfBody } from './anthropic-errors.ts';
import { deltaOf, initialReduction, type RawEvent, type Reduction, reduce } from './anthropic-reduce.ts';
import { toRequest } from './anthropic-request.ts';
import { type ByteLimits, type ByteWatch, watchBytes } from './byte-watch.ts';

export interface AnthropicOptions {
  readonly apiKey: string;
  /** Default `https://api.anthropic.com`. */
  readonly baseUrl: string;
  readonly cacheTtl: '5m' | '1h';
  readonly limits: ByteLimits;
}

export const ANTHROPIC_URL = 'https://api.anthropic.com';

/** How long the stream may go on after its terminal event: its end lets the connection be used again. */
const DRAIN_MS = 250;

export function createAnthropicProvider(options: AnthropicOptions): Provider {
  return { name: 'anthropic', stream: (request, signal) => stream(options, request, signal) };
}

async function* stream(
  options: AnthropicOptions,
  request: ProviderRequest,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent> {
  const shown = request.context.find((part) => part.kind === 'tools');
  const definitions = await request.definitions(shown?.tools ?? []);
  const issuer = issuerOf(options, request.model);
  const watch = watchBytes(fetch, options.limits, signal);
  let reduction = initialReduction;
  let requestId: string | null = null;
  let thrown: unknown;
  try {
    const response = await open(
      options,
      watch,
      toRequest(request.context, definitions, { ...request, ...options, issuer }),
    );
    requestId = response.headers.get('request-id');
    for await (const { event: name, data } of Stream.rawEvents(response)) {
      const event = { name, data: parse(data) };
      const delta = deltaOf(reduction, event);
      reduction = reduce(reduction, event);
      if (delta && delta.text !== '') yield { type: 'delta', ...delta };
      if (reduction.terminal) watch.settle(DRAIN_MS);
      if (reduction.error) break;
    }
  } catch (error) {
    thrown = error;
  } finally {
    watch.stop();
  }
  yield toEvent({
    options,
    request,
    definitions,
    reduction,
    requestId,
    thrown,
    cancelled: signal.aborted,
    watch,
  });
}

/** API, endpoint and model: what signatures are bound to. The model as asked for, since an alias is what is asked for again. */
function issuerOf({ baseUrl }: AnthropicOptions, model: string): string {
  return `anthropic-messages ${baseUrl.replace(/\/+$/, '')} ${model}`;
}

function open(options: AnthropicOptions, watch: ByteWatch, body: object): Promise<Response> {
  const client = new Anthropic({
    apiKey: options.apiKey,
    baseURL: options.baseUrl,
    webhookKey: null,
    maxRetries: 0,
    // Ours come first; this one only must not.
    timeout: options.limits.totalMs + 1000,
    fetch: watch.fetch,
    logLevel: 'off',
    openTelemetry: false,
  });
  // The one place where the neutral request meets the SDK's types: carried blocks are opaque to ours.
  return client.messages
    .create(body as MessageCreateParamsStreaming, {
      // Again, because the environment may name headers, and these come last.
      headers: { Authorization: `Bearer ${options.apiKey}` },
    })
    .asResponse();
}

function parse(data: string): RawEvent['data'] {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

interface Ended {
  readonly options: AnthropicOptions;
  readonly request: ProviderRequest;
  readonly definitions: readonly ToolDefinition[];
  readonly reduction: Reduction;
  readonly requestId: string | null;
  readonly thrown: unknown;
  readonly cancelled: boolean;
  readonly watch: ByteWatch;
}

function toEvent(ended: Ended): Answer | Failure {
  const { options, request, reduction } = ended;
  const event = outcomeOf(ended);
  const model = reduction.model ?? request.model;
  // Another endpoint has other prices.
  const priced = options.baseUrl.replace(/\/+$/, '') === ANTHROPIC_URL;
  return { ...event, costUsd: priced ? costUsd(model, event.usage, options.cacheTtl) : null };
}

function outcomeOf(ended: Ended): Answer | Failure {
  const { options, request, definitions, reduction, requestId, thrown, cancelled, watch } = ended;
  const expiry = watch.expired();
  const whole = reduction.terminal || reduction.error !== null;
  if (!whole && cancelled) {
    return brokenOff(reduction, {
      category: 'model_cancelled',
      message: 'the request was cancelled',
      retryable: false,
    });
  }
  if (!whole && expiry !== null) {
    return brokenOff(reduction, { category: 'stream_timeout', message: TIMEOUTS[expiry], retryable: true });
  }
  if (!whole && thrown !== undefined)
    return brokenOff(reduction, scrub(options.apiKey, classifyThrown(thrown)));
  const outcome = toOutcome(reduction, {
    issuer: issuerOf(options, request.model),
    model: request.model,
    requestId,
    schemaOf: (tool) => definitions.find(({ name }) => name === tool)?.inputSchema,
  });
  return outcome.type === 'failure' ? scrub(options.apiKey, outcome) : outcome;
}

const TIMEOUTS = {
  first_byte: 'the provider did not begin to answer in time',
  idle: 'the provider went silent in the middle of its answer',
  total: 'the answer took longer than one answer may',
} as const;

type Why = Pick<Failure, 'category' | 'message' | 'retryable' | 'retryAfterMs'>;

function classifyThrown(thrown: unknown): Why {
  if (thrown instanceof APIError && typeof thrown.status === 'number') {
    const { status, headers, error } = thrown;
    return classifyError({
      status,
      type: thrown.type ?? typeOfBody(error),
      code: thrown.errorCode,
      message: messageOfBody(error, `HTTP ${status}`),
      header: (name) => headers?.get(name) ?? null,
    });
  }
  if (thrown instanceof APIConnectionError || isNetworkError(thrown)) {
    return { category: 'transport', message: networkMessage(thrown), retryable: true };
  }
  throw thrown;
}

/** `fetch` throws plain TypeErrors for the network; its cause has a code. */
function isNetworkError(thrown: unknown): boolean {
  return (
    thrown instanceof TypeError && (thrown.message === 'terminated' || thrown.message === 'fetch failed')
  );
}

function networkMessage(thrown: unknown): string {
  let at: unknown = thrown;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  const code = at instanceof Error && 'code' in at && typeof at.code === 'string' ? ` (${at.code})` : '';
  return `the connection to the provider broke${code}`;
}

/** A provider that echoes the key must not bring it into the log. */
function scrub<Event extends Why>(apiKey: string, event: Event): Event {
  return { ...event, message: event.message.replaceAll(apiKey, '[key]') };
}
