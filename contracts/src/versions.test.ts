import { expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_TYPES, EVENTS, type EventContract } from './registry.ts';
import { readData } from './versions.ts';

const v1 = z.object({ minutes: z.int() });
const v2 = z.object({ seconds: z.int() });
const v3 = z.object({ durationMs: z.int(), why: z.string().default('unsaid') });
const TYPE = {
  schema: v3,
  past: [
    { schema: v1, upcast: ({ minutes }: z.infer<typeof v1>) => ({ seconds: minutes * 60 }) },
    { schema: v2, upcast: ({ seconds }: z.infer<typeof v2>) => ({ durationMs: seconds * 1000 }) },
  ],
};

test.each([
  [1, { minutes: 2 }],
  [2, { seconds: 120 }],
  [3, { durationMs: 120_000 }],
])('version %i is read as the newest', (version, data) => {
  expect(readData(TYPE, version, data).data).toEqual({ durationMs: 120_000, why: 'unsaid' });
});

test.each([
  [1, { seconds: 120 }],
  [2, { minutes: 2 }],
  [3, { minutes: 2 }],
])('version %i is parsed as what it was, not as another', (version, data) => {
  expect(readData(TYPE, version, data).success).toBe(false);
});

test('every type has a schema for each of its versions', () => {
  for (const type of EVENT_TYPES) {
    const { version, past = [] }: EventContract = EVENTS[type];
    expect([type, past.length]).toEqual([type, version - 1]);
  }
});
