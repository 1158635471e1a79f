/**
 * A `fetch` for one request that watches its bytes. The SDK's own time limit ends with the headers, so a stream that
 * goes silent is noticed here and nowhere else; keep-alives count as life.
 *
 * W1. Only headers of the API leave: what the environment of the process would add stays here.
 * W2. The body is passed on as it is read, no faster: a slow reader slows the sender.
 */
export interface ByteLimits {
  /** From the request to the first byte of the body. */
  readonly firstByteMs: number;
  /** From one byte to the next. */
  readonly idleMs: number;
  /** From the request to the end. */
  readonly totalMs: number;
}

export type Expiry = 'first_byte' | 'idle' | 'total';

export interface ByteWatch {
  readonly fetch: typeof fetch;
  /** Which limit ended the request; null while none did. */
  expired(): Expiry | null;
  /** What counts has come: the rest may take this long. */
  settle(withinMs: number): void;
  /** Ends timers and, where it is still open, the connection. */
  stop(): void;
}

/** @param signal ends the request at once */
export function watchBytes(base: typeof fetch, limits: ByteLimits, signal: AbortSignal): ByteWatch {
  const own = new AbortController();
  let expiry: Expiry | null = null;
  let timer: NodeJS.Timeout | undefined;
  const arm = (what: Expiry | null, ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      expiry ??= what;
      own.abort();
    }, ms);
  const rearm = (what: Expiry | null, ms: number): void => {
    clearTimeout(timer);
    timer = arm(what, ms);
  };
  let settled = false;
  let total: NodeJS.Timeout | undefined;
  return {
    async fetch(input, init) {
      total = arm('total', limits.totalMs);
      rearm('first_byte', limits.firstByteMs);
      const signals = [own.signal, signal, ...(init?.signal ? [init.signal] : [])];
      const response = await base(input, {
        ...init,
        headers: apiHeaders(init?.headers),
        signal: AbortSignal.any(signals),
      });
      if (!response.body) return response;
      const watched = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (!settled) rearm('idle', limits.idleMs);
          controller.enqueue(chunk);
        },
      });
      const { status, statusText, headers } = response;
      return new Response(response.body.pipeThrough(watched), { status, statusText, headers });
    },
    expired: () => expiry,
    settle(withinMs) {
      settled = true;
      rearm(null, withinMs);
    },
    stop() {
      clearTimeout(timer);
      clearTimeout(total);
      own.abort();
    },
  };
}

const API_HEADERS = /^(accept|authorization|content-type|user-agent|anthropic-.+|x-stainless-.+)$/;

function apiHeaders(given: RequestInit['headers']): Headers {
  const kept = new Headers();
  for (const [name, value] of new Headers(given)) if (API_HEADERS.test(name)) kept.append(name, value);
  return kept;
}
