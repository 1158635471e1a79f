import type { ContextPart } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import type { ProviderEvent, ProviderRequest } from '../provider.ts';
import { createScriptedProvider } from './scripted.ts';

interface Point {
  readonly turn?: number;
  readonly unused?: readonly number[] | null;
  readonly skip?: number;
  readonly observed?: readonly string[];
  readonly signal?: AbortSignal;
}

async function play(turns: unknown[] | string | null, point: Point = {}): Promise<ProviderEvent[]> {
  const text = typeof turns === 'string' ? turns : JSON.stringify({ turns });
  const provider = createScriptedProvider({ load: async () => Buffer.from(text) });
  const events: ProviderEvent[] = [];
  for await (const event of provider.stream(
    requestAt(point, turns !== null),
    point.signal ?? new AbortController().signal,
  )) {
    events.push(event);
  }
  return events;
}

function requestAt(
  { turn = 1, unused = null, skip = 0, observed }: Point,
  hasScript: boolean,
): ProviderRequest {
  const results: ContextPart = {
    kind: 'results',
    results: [
      {
        intent: 'i',
        providerRef: 'r',
        isError: false,
        parts: (observed ?? []).map((text) => ({ label: 'fact', text })),
      },
    ],
  };
  return {
    tenant: 'local',
    model: 'script-1',
    maxOutputTokens: 100,
    run: 1,
    turn,
    context: observed ? [results] : [],
    definitions: async () => [],
    script: { uri: hasScript ? 'artifact://x' : null, unused, skip },
  };
}

const last = async (turns: unknown[] | string | null, point?: Point): Promise<ProviderEvent | undefined> =>
  (await play(turns, point)).at(-1);
const say = (text: string, more: object = {}): object => ({ parts: [{ text }], ...more });

describe('nothing answers', () => {
  test('without a script', async () => {
    expect(await last(null)).toMatchObject({ category: 'script_invalid', retryable: false });
  });
  test('with a script that is wrong', async () => {
    expect(await last('{')).toMatchObject({ category: 'script_invalid', retryable: false });
  });
  test('where no turn fits, and the failure says what the others wait for', async () => {
    const turns = [
      say('a', { when: { turn: 3 } }),
      say('b', { when: { observation_matches: 'ok', turn: 1 } }),
      say('c'),
    ];
    const failure = await last(turns, { turn: 1, unused: [0, 1], observed: ['bad'] });
    expect(failure).toMatchObject({
      type: 'failure',
      category: 'script_no_match',
      retryable: false,
      scriptUnused: [0, 1],
      message:
        'the script has nothing for turn 1 of run 1; unused: turns[0] waits for turn 3; ' +
        'turns[1] waits for turn 1 and an observation that matches /ok/',
    });
  });
  test('where every turn is used', async () => {
    expect(await last([say('a')], { unused: [] })).toMatchObject({
      category: 'script_no_match',
      message: 'the script has nothing for turn 1 of run 1; every turn of it is used',
    });
  });
});

describe('which turn answers', () => {
  test('the first unused one that fits', async () => {
    const turns = [say('a', { when: { turn: 2 } }), say('b'), say('c')];
    expect(await last(turns)).toMatchObject({ parts: [{ text: 'b' }], scriptUnused: [0, 2] });
    expect(await last(turns, { turn: 2 })).toMatchObject({ parts: [{ text: 'a' }], scriptUnused: [1, 2] });
    expect(await last(turns, { unused: [0, 2] })).toMatchObject({
      parts: [{ text: 'c' }],
      scriptUnused: [0],
    });
  });
  test('by the texts of the last results together', async () => {
    const turns = [say('matched', { when: { observation_matches: 'one\\ntwo' } }), say('else')];
    expect(await last(turns, { observed: ['one', 'two'] })).toMatchObject({ parts: [{ text: 'matched' }] });
    expect(await last(turns, { observed: ['one'] })).toMatchObject({ parts: [{ text: 'else' }] });
    expect(await last(turns)).toMatchObject({ parts: [{ text: 'else' }] });
  });
  test('after those that earlier attempts of the request used up', async () => {
    const turns = [
      say('a', { error: { category: 'overloaded' } }),
      say('never', { when: { turn: 9 } }),
      say('b'),
    ];
    expect(await last(turns)).toMatchObject({ category: 'overloaded', scriptUnused: [1, 2] });
    expect(await last(turns, { skip: 1 })).toMatchObject({ parts: [{ text: 'b' }], scriptUnused: [1] });
    expect(await last(turns, { skip: 2 })).toMatchObject({ category: 'script_no_match', scriptUnused: [1] });
  });
});

describe('what a turn answers', () => {
  test('parts in order; broken arguments stay text, calls stop for tools', async () => {
    const parts = [
      { reasoning: 'hm' },
      { text: 'now' },
      { tool: 'read_file', input: { path: 'a' }, reason: 'r', expect: 'e' },
      { tool: 'bash', rawInput: '{"command": ' },
      { tool: 'bash', rawInput: '{"command": "ls"}' },
      { tool: 'bash', rawInput: '' },
    ];
    expect(await last([{ parts }])).toEqual({
      type: 'message',
      parts: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'now' },
        {
          type: 'tool_call',
          tool: 'read_file',
          rawInput: { path: 'a' },
          inputFormat: 'json',
          reason: 'r',
          expect: 'e',
          providerRef: 'script_0_2',
        },
        {
          type: 'tool_call',
          tool: 'bash',
          rawInput: '{"command": ',
          inputFormat: 'text',
          providerRef: 'script_0_3',
        },
        {
          type: 'tool_call',
          tool: 'bash',
          rawInput: { command: 'ls' },
          inputFormat: 'json',
          providerRef: 'script_0_4',
        },
        { type: 'tool_call', tool: 'bash', rawInput: {}, inputFormat: 'json', providerRef: 'script_0_5' },
      ],
      stop: 'tool_calls',
      nativeStop: 'tool_calls',
      usage: null,
      costUsd: null,
      model: 'script-1',
      requestId: null,
      scriptUnused: [],
    });
  });

  test.each(['max_tokens', 'refusal', 'content_filter', 'context_window'])(
    'no call survives %s',
    async (stop) => {
      expect(await last([{ parts: [{ tool: 'bash', input: { command: 'ls' } }], stop }])).toMatchObject({
        stop,
        parts: [
          {
            type: 'rejected_call',
            tool: 'bash',
            raw: '{"command":"ls"}',
            why: `the answer stopped with ${stop}`,
          },
        ],
      });
    },
  );

  test.each(['pause', 'end_turn', 'unknown'])(
    'a call goes with stop %s where the script says so',
    async (stop) => {
      expect(await last([{ parts: [{ tool: 'bash', input: {} }], stop }])).toMatchObject({
        stop,
        parts: [{ type: 'tool_call' }],
      });
    },
  );

  test('usage as the script has it', async () => {
    expect(await last([say('a', { usage: { inputUncached: 5, output: 2, reasoning: 1 } })])).toMatchObject({
      usage: { inputUncached: 5, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 1 },
    });
  });

  test('its text first, as deltas that join to it', async () => {
    const events = await play([{ parts: [{ reasoning: 'hm' }, { text: 'hello' }], delayMs: 8 }]);
    const deltas = events.filter((event) => event.type === 'delta');
    expect(deltas.length).toBeGreaterThan(2);
    expect(
      deltas
        .filter(({ kind }) => kind === 'text')
        .map(({ text }) => text)
        .join(''),
    ).toBe('hello');
    expect(
      deltas
        .filter(({ kind }) => kind === 'reasoning')
        .map(({ text }) => text)
        .join(''),
    ).toBe('hm');
  });

  test('the same events on every run', async () => {
    const turns = [{ parts: [{ text: 'Grüße 👋👋👋' }, { tool: 'x', input: {} }], delayMs: 4 }];
    expect(await play(turns)).toEqual(await play(turns));
  });
});

describe('how a turn fails', () => {
  test('cut: half of its text, and no call', async () => {
    const events = await play([{ parts: [{ text: 'abcdefgh' }, { tool: 'bash', input: {} }], cut: true }]);
    expect(events.at(-1)).toMatchObject({
      type: 'failure',
      category: 'stream_truncated',
      retryable: true,
      partial: 'abcd',
      scriptUnused: [],
    });
  });
  test('with the error it names', async () => {
    expect(await last([{ error: { category: 'rate_limit', retryAfterMs: 70_000 } }])).toMatchObject({
      category: 'rate_limit',
      retryable: true,
      retryAfterMs: 70_000,
    });
    expect(await last([{ error: { category: 'auth' } }])).toMatchObject({
      category: 'auth',
      retryable: false,
    });
  });
  test('with a stop that is no answer', async () => {
    expect(await last([say('a', { stop: 'error' })])).toMatchObject({
      category: 'internal',
      retryable: false,
    });
    expect(await last([say('a', { stop: 'cancelled' })])).toMatchObject({ category: 'model_cancelled' });
  });
  test('cancelled while it comes, with the text that had come', async () => {
    const controller = new AbortController();
    const provider = createScriptedProvider({
      load: async () =>
        Buffer.from(JSON.stringify({ turns: [say('abcdefgh', { delayMs: 500 }), say('later')] })),
    });
    const events: ProviderEvent[] = [];
    for await (const event of provider.stream(requestAt({}, true), controller.signal)) {
      events.push(event);
      controller.abort();
    }
    expect(events).toMatchObject([
      { type: 'delta', text: 'ab' },
      { type: 'failure', category: 'model_cancelled', retryable: false, partial: 'ab', scriptUnused: [1] },
    ]);
  });
});
