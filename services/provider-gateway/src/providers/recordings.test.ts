/** Recorded streams of the real API, where their folder stands beside the checkout. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chunked, corpus, eventsOf } from '../../test/streams.ts';
import { classifyError, messageOfBody, typeOfBody } from './anthropic-errors.ts';
import { parseAnthropicStream } from './stream-report.ts';

interface Recording {
  readonly file: string;
  readonly expected: Record<string, unknown> & { usage: Record<string, unknown> | null };
}

const folder = corpus('provider-streams');
const json = (name: string): unknown => JSON.parse(readFileSync(join(folder ?? '', name), 'utf8'));

function recordings(): Recording[] {
  if (folder === null) return [];
  const { streams } = json('index.json') as { streams: (Recording & { api: string })[] };
  return streams.filter(({ api }) => api === 'anthropic-messages');
}

/** What the expectation says in words of its own, and about this reader rather than the stream. */
function comparable({ expected }: Recording): Record<string, unknown> {
  const { note: _note, usage, ...rest } = expected;
  if (usage === null) return { ...rest, usage };
  const { note: _why, context_input: _context, server_tool_requests: _requests, ...counts } = usage;
  return { ...rest, usage: counts };
}

describe.skipIf(folder === null)('recorded streams (of ../shared)', () => {
  const bytesOf = ({ file }: Recording): Uint8Array => readFileSync(join(folder ?? '', file));

  describe.each(recordings().map((recording) => [recording.file, recording] as const))(
    '%s',
    (_file, recording) => {
      test('whole', async () => {
        expect(await parseAnthropicStream(bytesOf(recording))).toMatchObject(comparable(recording));
      });
      test.each([1, 7, 64])('in chunks of %i bytes', async (size) => {
        const report = await parseAnthropicStream(chunked(bytesOf(recording), size));
        expect(report).toEqual(await parseAnthropicStream(bytesOf(recording)));
      });
      test('with CRLF and comments between', async () => {
        const text = Buffer.from(bytesOf(recording)).toString('utf8');
        const noisy = text.replaceAll('\n\n', '\n\n: keep-alive\n\n').replaceAll('\n', '\r\n');
        expect(await parseAnthropicStream(Buffer.from(noisy))).toEqual(
          await parseAnthropicStream(bytesOf(recording)),
        );
      });
      test('cut at any event boundary: an error, and no call', async () => {
        const events = eventsOf(bytesOf(recording));
        const terminal = events.findIndex((event) => event.startsWith('event: message_stop'));
        for (let kept = 0; kept < (terminal < 0 ? events.length : terminal); kept++) {
          const report = await parseAnthropicStream(Buffer.from(events.slice(0, kept).join('')));
          expect(report).toMatchObject({
            outcome: 'error',
            tool_calls: [],
            error: { code: 'stream_truncated' },
          });
        }
      });
    },
  );

  test('nothing in them is unknown', async () => {
    for (const recording of recordings()) {
      expect(await parseAnthropicStream(bytesOf(recording)), recording.file).not.toHaveProperty('unknown');
    }
  });
});

/** Finer words of the corpus for what our categories say. */
const CATEGORIES: Readonly<Record<string, string>> = {
  quota: 'billing',
  unsupported_parameter: 'invalid_request',
  invalid_tool_schema: 'invalid_request',
};

interface RecordedError {
  readonly name: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly expected: { readonly category: string; readonly retryable: boolean };
}

describe.skipIf(folder === null)('recorded HTTP errors (of ../shared)', () => {
  const errors = folder === null ? [] : (json('http-errors.json') as { errors: RecordedError[] }).errors;
  test.each(errors.map((error) => [error.name, error] as const))(
    '%s',
    (_name, { status, headers, body, expected }) => {
      const parsed: unknown = JSON.parse(body);
      const classified = classifyError({
        status,
        type: typeOfBody(parsed),
        message: messageOfBody(parsed, `HTTP ${status}`),
        header: (name) => headers[name] ?? null,
      });
      expect(classified.category).toBe(CATEGORIES[expected.category] ?? expected.category);
      expect(classified.retryable).toBe(expected.retryable);
    },
  );
});
