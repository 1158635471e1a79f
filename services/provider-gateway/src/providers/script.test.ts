import { describe, expect, test } from 'vitest';
import { parseScript } from './script.ts';

const script = (...turns: unknown[]): string => JSON.stringify({ turns });
const messageOf = (text: string): string => {
  const parsed = parseScript(text);
  return parsed.ok ? 'parsed' : parsed.message;
};

describe('a script is refused, and the wrong field named', () => {
  test.each([
    ['{', 'the script is not JSON'],
    ['[]', 'script: '],
    ['{}', 'turns: '],
    [script({ parts: 'text' }), 'turns[0].parts: '],
    [script({ parts: [] }, { parts: [{}] }), 'turns[1].parts[0]: a part is one of'],
    [script({ parts: [{ text: 'a', tool: 'b' }] }), 'turns[0].parts[0]: a part is one of'],
    [script({ parts: [{ text: 'a', input: {} }] }), 'turns[0].parts[0]: "input"'],
    [script({ parts: [{ tool: 'a', input: {}, rawInput: '{}' }] }), 'turns[0].parts[0]: a tool has'],
    [script({ parts: [{ tool: 7 }] }), 'turns[0].parts[0].tool: '],
    [script({ parts: [{ text: 'a', colour: 'red' }] }), 'turns[0].parts[0]: '],
    [script({ when: { observationMatches: 'a' }, parts: [] }), 'turns[0].when: '],
    [script({ when: { observation_matches: '(' }, parts: [] }), 'turns[0].when.observation_matches: '],
    [script({ when: { turn: 0 }, parts: [] }), 'turns[0].when.turn: '],
    [script({ parts: [], stop: 'because' }), 'turns[0].stop: '],
    [
      script({ parts: [], error: { category: 'bad_luck' } }),
      'turns[0].error.category: no error category "bad_luck"',
    ],
    [script({ parts: [], usage: { output: -1 } }), 'turns[0].usage.output: '],
    [script({ parts: [], delayMs: 1.5 }), 'turns[0].delayMs: '],
  ])('%s', (text, message) => {
    expect(messageOf(text)).toContain(message);
  });
});

describe('a script is read', () => {
  test('with everything that a turn may have', () => {
    const parsed = parseScript(
      JSON.stringify({
        comment: 'keys of the file that are not known are dropped',
        turns: [
          {
            when: { turn: 2, observation_matches: '^ok' },
            parts: [
              { text: 'hello' },
              { reasoning: 'hm' },
              { tool: 'read_file', input: { path: 'a' }, reason: 'r', expect: 'e' },
              { tool: 'bash', rawInput: '{"command": ' },
              { tool: 'list_dir' },
            ],
            stop: 'tool_calls',
            usage: { input_uncached: 1, cacheRead: 2, cache_write: 3, output: 4 },
            delayMs: 5,
            cut: true,
            error: { category: 'timeout', retryAfterMs: 6 },
          },
        ],
      }),
    );
    expect(parsed).toEqual({
      ok: true,
      script: {
        turns: [
          {
            when: { turn: 2, observation_matches: /^ok/ },
            parts: [
              { text: 'hello' },
              { reasoning: 'hm' },
              { call: { tool: 'read_file', raw: '{"path":"a"}', reason: 'r', expect: 'e' } },
              { call: { tool: 'bash', raw: '{"command": ' } },
              { call: { tool: 'list_dir', raw: '{}' } },
            ],
            stop: 'tool_calls',
            usage: { inputUncached: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: null },
            delayMs: 5,
            cut: true,
            error: { category: 'stream_timeout', retryAfterMs: 6 },
          },
        ],
      },
    });
  });

  test.each([
    ['quota', 'billing'],
    ['rate_limit', 'rate_limit'],
    ['rate_limit_error', 'rate_limit'],
    ['truncated', 'stream_truncated'],
    ['timeout', 'stream_timeout'],
    ['unsupported_parameter', 'invalid_request'],
    ['cancelled', 'model_cancelled'],
    ['context_window', 'context_window'],
  ])('error category %s is %s', (category, expected) => {
    const parsed = parseScript(script({ error: { category } }));
    expect(parsed).toMatchObject({ ok: true, script: { turns: [{ error: { category: expected } }] } });
  });
});
