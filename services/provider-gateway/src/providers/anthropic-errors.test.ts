import { describe, expect, test } from 'vitest';
import { classifyError, messageOfBody } from './anthropic-errors.ts';

const at = (status: number, message = '', headers: Record<string, string> = {}) =>
  classifyError({ status, type: null, message, header: (name) => headers[name] ?? null });

describe('never again', () => {
  test.each([
    [400, 'invalid_request'],
    [401, 'auth'],
    [402, 'billing'],
    [403, 'permission'],
    [404, 'model_not_found'],
    [413, 'context_window'],
    [422, 'invalid_request'],
  ])('%i is %s', (status, category) => {
    expect(at(status)).toMatchObject({ category, retryable: false });
  });
  test('where the server says so, or does not know how', () => {
    expect(at(529, '', { 'x-should-retry': 'false' })).toMatchObject({
      category: 'overloaded',
      retryable: false,
    });
    expect(at(501)).toMatchObject({ category: 'internal', retryable: false });
  });
});

describe('again later', () => {
  test.each([
    [408, 'stream_timeout'],
    [409, 'internal'],
    [429, 'rate_limit'],
    [499, 'transport'],
    [500, 'internal'],
    [502, 'internal'],
    [503, 'overloaded'],
    [504, 'stream_timeout'],
    [529, 'overloaded'],
  ])('%i is %s', (status, category) => {
    expect(at(status)).toMatchObject({ category, retryable: true });
  });
});

test.each([
  ['overloaded_error', 'overloaded'],
  ['rate_limit_error', 'rate_limit'],
  ['api_error', 'internal'],
  ['timeout_error', 'stream_timeout'],
  ['authentication_error', 'auth'],
  ['billing_error', 'billing'],
  ['a_new_error', 'internal'],
])('a frame in the stream has no status: %s is %s', (type, category) => {
  expect(classifyError({ type, message: '' })).toMatchObject({ category });
});

test.each([
  ['prompt is too long: 3 tokens > 2 maximum', 'context_window'],
  ['Your credit balance is too low to access the API', 'billing'],
  ['max_tokens: must be at least 1', 'invalid_request'],
])('what a text says: %s', (message, category) => {
  expect(classifyError({ status: 400, type: 'invalid_request_error', message })).toMatchObject({ category });
});

test('a rate limit that speaks of tokens stays a rate limit', () => {
  const message =
    'This request would exceed your organization’s rate limit of 30,000 input tokens per minute.';
  expect(classifyError({ status: 429, type: 'rate_limit_error', message })).toMatchObject({
    category: 'rate_limit',
  });
});

describe('how long to wait', () => {
  test.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': '1', 'retry-after-ms': '0' }, 1000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '-3' }, undefined],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:00:09 GMT', date: 'Mon, 30 Nov 2026 12:00:00 GMT' }, 9000],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:00:09 GMT' }, undefined],
    [{}, undefined],
  ])('%j', (headers, expected) => {
    expect(at(429, '', headers as Record<string, string>).retryAfterMs).toBe(expected);
  });
});

describe('the text of a body', () => {
  test.each([
    [{ error: { message: 'a' } }, 'a'],
    [{ error: 'b' }, 'b'],
    [{ detail: 'c' }, 'c'],
    [{ message: 'd' }, 'd'],
    ['e', 'e'],
    [{ error: { code: 1 } }, 'HTTP 400'],
    [undefined, 'HTTP 400'],
  ])('%j', (body, expected) => {
    expect(messageOfBody(body, 'HTTP 400')).toBe(expected);
  });
  test('is not passed on without bound', () => {
    expect(messageOfBody({ message: 'x'.repeat(9000) }, '')).toHaveLength(501);
  });
});
