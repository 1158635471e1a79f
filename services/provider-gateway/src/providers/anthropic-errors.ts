/** What an error of the provider is, in the gateway's categories. Pure: by type, by status, then by what its text says. */
import { isObject } from '../json.ts';
import { type Failure, type FailureCategory, isRetryable } from '../provider.ts';

interface ProviderError {
  readonly status?: number | undefined;
  /** `error.type` of the body or frame. */
  readonly type: string | null;
  /** `error.details.error_code` */
  readonly code?: string | null;
  readonly message: string;
  /** By lower-case name. */
  readonly header?: (name: string) => string | null;
}

type Classified = Pick<Failure, 'category' | 'message' | 'retryable' | 'retryAfterMs'>;

const BY_TYPE: Readonly<Record<string, FailureCategory>> = {
  authentication_error: 'auth',
  permission_error: 'permission',
  billing_error: 'billing',
  not_found_error: 'model_not_found',
  rate_limit_error: 'rate_limit',
  timeout_error: 'stream_timeout',
  api_error: 'internal',
  overloaded_error: 'overloaded',
  conflict_error: 'internal',
  request_too_large: 'context_window',
};

const BY_STATUS: Readonly<Record<number, FailureCategory>> = {
  401: 'auth',
  402: 'billing',
  403: 'permission',
  404: 'model_not_found',
  408: 'stream_timeout',
  409: 'internal',
  413: 'context_window',
  429: 'rate_limit',
  499: 'transport',
  503: 'overloaded',
  504: 'stream_timeout',
  529: 'overloaded',
};

/** What a text says more exactly than a type or a status does. */
const BY_TEXT: readonly (readonly [RegExp, FailureCategory, ReadonlySet<FailureCategory>])[] = [
  [
    /prompt (is )?too long|context (length|window)|too many (input )?tokens/i,
    'context_window',
    new Set(['invalid_request']),
  ],
  [
    /credit balance|current quota|insufficient.quota|spend.limit|billing/i,
    'billing',
    new Set(['invalid_request', 'rate_limit', 'permission']),
  ],
  [/api[ -]key|security token/i, 'auth', new Set(['invalid_request', 'permission'])],
  [/model\b.*\b(does not exist|not found)/i, 'model_not_found', new Set(['invalid_request'])],
];

/** Never again, whatever the category says. */
const FINAL_STATUS: ReadonlySet<number> = new Set([501]);

export function classifyError(error: ProviderError): Classified {
  const first = (error.type === null ? undefined : BY_TYPE[error.type]) ?? byStatus(error.status);
  const said = `${error.code ?? ''} ${error.message}`;
  const category = BY_TEXT.find(([text, , over]) => over.has(first) && text.test(said))?.[1] ?? first;
  const refused = error.header?.('x-should-retry') === 'false' || FINAL_STATUS.has(error.status ?? 0);
  const retryAfterMs = error.header ? retryAfter(error.header) : undefined;
  return {
    category,
    message: error.message,
    retryable: isRetryable(category) && !refused,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function byStatus(status: number | undefined): FailureCategory {
  if (status === undefined) return 'internal';
  return BY_STATUS[status] ?? (status >= 500 ? 'internal' : 'invalid_request');
}

/** The wait that was asked for in milliseconds; undefined where there is none, it is 0, or it cannot be read. */
function retryAfter(header: (name: string) => string | null): number | undefined {
  const exact = Number(header('retry-after-ms') ?? Number.NaN);
  if (exact > 0) return Math.ceil(exact);
  const text = header('retry-after');
  if (text === null || text.trim() === '') return undefined;
  const seconds = Number(text);
  const ms = Number.isNaN(seconds) ? Date.parse(text) - dateOf(header) : seconds * 1000;
  return ms > 0 ? Math.ceil(ms) : undefined;
}

/** The server's own clock, since it set the instant; NaN without one. */
function dateOf(header: (name: string) => string | null): number {
  return Date.parse(header('date') ?? '');
}

/** The longest message that is passed on. */
const MESSAGE_LIMIT = 500;

/** The text of an error body, whatever its shape. */
export function messageOfBody(body: unknown, fallback: string): string {
  const message = textOf(body) ?? fallback;
  return message.length > MESSAGE_LIMIT ? `${message.slice(0, MESSAGE_LIMIT)}…` : message;
}

function textOf(body: unknown): string | null {
  if (typeof body === 'string' && body !== '') return body;
  if (!isObject(body)) return null;
  return textOf(body.error) ?? textOf(body.message) ?? textOf(body.detail);
}

/** `error.type` of a body. */
export function typeOfBody(body: unknown): string | null {
  const error = isObject(body) ? body.error : null;
  const type = isObject(error) ? error.type : null;
  return typeof type === 'string' ? type : null;
}
