import { Stream } from '@anthropic-ai/sdk/streaming';
import { describe, expect, test } from 'vitest';
import { chunked, eventsOf, fixture } from '../../test/streams.ts';
import type { Answer, Failure } from '../provider.ts';
import { toOutcome } from './anthropic-answer.ts';
import { deltaOf, initialReduction, reduce } from './anthropic-reduce.ts';

const ISSUER = 'anthropic-messages https://api.example claude-fixture';

interface Read {
  readonly outcome: Answer | Failure;
  readonly deltas: { readonly kind: string; readonly text: string }[];
}

async function read(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Read> {
  let reduction = initialReduction;
  const deltas: Read['deltas'] = [];
  for await (const { event: name, data } of Stream.rawEvents(
    new Response(body as ReadableStream<Uint8Array>),
  )) {
    const event = { name, data: parse(data) };
    const delta = deltaOf(reduction, event);
    if (delta) deltas.push(delta);
    reduction = reduce(reduction, event);
  }
  const options = {
    issuer: ISSUER,
    model: 'claude-fixture',
    requestId: 'req_1',
    schemaOf: () => ({ type: 'object' }),
  };
  return { outcome: toOutcome(reduction, options), deltas };
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

const outcomeOf = async (name: string): Promise<Answer | Failure> => (await read(fixture(name))).outcome;
const carry = (value: unknown): object => ({ carry: { issuer: ISSUER, value } });

describe('no call comes out', () => {
  test('of a stream that was cut in the middle of its arguments, nor a complete one beside it', async () => {
    expect(await outcomeOf('max-tokens-cut-json')).toMatchObject({
      type: 'message',
      stop: 'max_tokens',
      nativeStop: 'max_tokens',
      parts: [
        { type: 'text', text: 'Writing.' },
        {
          type: 'rejected_call',
          providerRef: 'toolu_1',
          raw: '{"path":"a.txt"}',
          why: 'the answer stopped with max_tokens',
        },
        {
          type: 'rejected_call',
          tool: 'write_file',
          raw: '{"path":"b.txt","content":"line one\\nline tw',
          why: 'arguments are not complete JSON',
        },
      ],
    });
  });

  test('of a refusal, and its explanation is kept', async () => {
    expect(await outcomeOf('refusal')).toMatchObject({
      stop: 'refusal',
      parts: [
        { type: 'text', text: 'I ' },
        { type: 'rejected_call', tool: 'bash' },
        { type: 'refusal', text: 'That is not something I do.' },
      ],
    });
  });

  test('of a stream without its terminal event, however complete it looks', async () => {
    expect(await outcomeOf('eof-without-terminal')).toEqual({
      type: 'failure',
      category: 'stream_truncated',
      message: 'the stream ended before message_stop',
      retryable: true,
      partial: 'All there.',
      usage: { inputUncached: 10, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: null },
      costUsd: null,
    });
  });

  test('of a stream with an error frame', async () => {
    expect(await outcomeOf('error-frame')).toMatchObject({
      type: 'failure',
      category: 'overloaded',
      message: 'Overloaded',
      retryable: true,
      partial: 'Half an ',
      // Eight characters were not one token, whatever the first count said.
      usage: { inputUncached: 10, output: 2 },
    });
  });

  test('of what ran at the provider', async () => {
    const value = {
      block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'weather' } },
      container: 'container_1',
    };
    expect(await outcomeOf('pause-server-tool')).toMatchObject({
      stop: 'pause',
      nativeStop: 'pause_turn',
      parts: [
        { type: 'text' },
        { type: 'provider', kind: 'server_tool_use', ...carry(value) },
        { type: 'provider', kind: 'web_search_tool_result' },
      ],
    });
  });

  test.each([
    'parallel-tools',
    'tool-no-arguments',
    'pause-server-tool',
    'cache-usage',
    'thinking-signature',
  ])('of %s cut at any event boundary', async (name) => {
    const events = eventsOf(fixture(name));
    for (let kept = 0; kept < events.length; kept++) {
      const { outcome } = await read(Buffer.from(events.slice(0, kept).join('')));
      expect(outcome).toMatchObject({ type: 'failure', category: 'stream_truncated' });
    }
  });
});

describe('an answer comes out', () => {
  test('text', async () => {
    expect(await outcomeOf('text')).toEqual({
      type: 'message',
      parts: [{ type: 'text', text: 'Grüße, Welt 👋' }],
      stop: 'end_turn',
      nativeStop: 'end_turn',
      usage: { inputUncached: 10, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: null },
      costUsd: null,
      model: 'claude-fixture-1',
      requestId: 'req_1',
    });
  });

  test('thinking with its signature', async () => {
    expect(await outcomeOf('thinking-signature')).toMatchObject({
      parts: [
        {
          type: 'reasoning',
          text: 'Let me see.',
          ...carry({ type: 'thinking', signature: 'c2lnbmF0dXJlLW9mLWEtZml4dHVyZQ==' }),
        },
        { type: 'text', text: 'Done.' },
      ],
      usage: { reasoning: 7 },
    });
  });

  test('redacted thinking shows nothing and goes back whole', async () => {
    expect(await outcomeOf('redacted-thinking')).toMatchObject({
      parts: [
        { type: 'reasoning', text: '', ...carry({ type: 'redacted_thinking', data: 'b3BhcXVl' }) },
        { type: 'text' },
      ],
    });
  });

  test('parallel calls with their arguments in pieces; what they say of themselves is not input', async () => {
    expect(await outcomeOf('parallel-tools')).toMatchObject({
      stop: 'tool_calls',
      parts: [
        { type: 'text' },
        {
          type: 'tool_call',
          tool: 'read_file',
          rawInput: { path: 'a.txt' },
          inputFormat: 'json',
          reason: 'to see a',
          expect: 'text',
          providerRef: 'toolu_1',
        },
        {
          type: 'tool_call',
          rawInput: { path: 'b.txt' },
          providerRef: 'toolu_2',
          ...carry({ caller: { type: 'direct' } }),
        },
      ],
    });
  });

  test('empty arguments are an empty object', async () => {
    expect(await outcomeOf('tool-no-arguments')).toMatchObject({
      parts: [{ rawInput: {}, inputFormat: 'json' }],
    });
  });

  test('arguments that are not JSON in a whole stream stay the text they are', async () => {
    const raw = '{"path": "a.txt", "content": nope}';
    expect(await outcomeOf('tool-broken-json')).toMatchObject({
      stop: 'tool_calls',
      parts: [{ type: 'tool_call', rawInput: raw, inputFormat: 'text' }],
    });
  });

  test('a call under end_turn is a call', async () => {
    expect(await outcomeOf('end-turn-with-call')).toMatchObject({
      stop: 'tool_calls',
      nativeStop: 'end_turn',
    });
  });

  test('a second message_start voids the first message, and that is kept', async () => {
    expect(await outcomeOf('duplicate-message-start')).toMatchObject({
      parts: [
        { type: 'text', text: 'kept' },
        { type: 'provider', kind: 'unrecognised', ...carry({ kept: [], restarts: 1 }) },
      ],
    });
  });

  test('what is not known is kept and counted, and harms nothing', async () => {
    const outcome = await outcomeOf('unknown-block-and-event');
    expect(outcome).toMatchObject({
      stop: 'unknown',
      nativeStop: 'unheard_of',
      parts: [
        { type: 'provider', kind: 'hologram', ...carry({ block: { type: 'hologram', shape: 'cube' } }) },
        { type: 'text', text: 'Still fine.' },
        { type: 'provider', kind: 'unrecognised' },
      ],
      unknown: {
        weather_report: 1,
        'block hologram': 1,
        'delta hologram_delta': 1,
        'delta glitter_delta': 1,
        content_block_delta: 1,
      },
    });
  });

  test('usage of all iterations, and a compaction that goes back whole', async () => {
    expect(await outcomeOf('cache-usage')).toMatchObject({
      usage: { inputUncached: 281, cacheRead: 5000, cacheWrite: 12, output: 91, reasoning: null },
      parts: [
        {
          type: 'provider',
          kind: 'compaction',
          ...carry({ block: { type: 'compaction', content: 'Summary.', encrypted_content: 'ZW5j' } }),
        },
        { type: 'text' },
      ],
    });
  });

  test('citations go back with their text', async () => {
    expect(await outcomeOf('citations')).toMatchObject({
      parts: [
        { type: 'text', text: 'It rains.', carry: { value: { citations: [{ cited_text: 'It rains.' }] } } },
      ],
    });
  });

  test('from a server that leaves out the event lines', async () => {
    expect(await outcomeOf('no-event-lines')).toEqual(await outcomeOf('text'));
  });
});

const FIXTURES = [
  'cache-usage',
  'error-frame',
  'max-tokens-cut-json',
  'parallel-tools',
  'pause-server-tool',
  'text',
  'thinking-signature',
  'unknown-block-and-event',
];

describe.each(FIXTURES)('%s', (name) => {
  test.each([1, 7, 64])('the same in chunks of %i bytes', async (size) => {
    expect(await read(chunked(fixture(name), size))).toEqual(await read(fixture(name)));
  });
  test('the same with CRLF and comments between', async () => {
    const text = Buffer.from(fixture(name)).toString('utf8');
    const noisy = text.replaceAll('\n\n', '\n\n: keep-alive\n\n').replaceAll('\n', '\r\n');
    expect(await read(Buffer.from(noisy))).toEqual(await read(fixture(name)));
  });
  test('deltas join to the text', async () => {
    const { outcome, deltas } = await read(fixture(name));
    const text = deltas
      .filter(({ kind }) => kind === 'text')
      .map((delta) => delta.text)
      .join('');
    const whole =
      outcome.type === 'failure'
        ? outcome.partial
        : outcome.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    expect(text).toBe(whole);
  });
});
