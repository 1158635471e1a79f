import { monotonicFactory } from 'ulid';
import { randomFraction, randomText } from './random.ts';

/** Time as an input, so that tests and replays may set it. */
export interface Clock {
  now(): Date;
}

/** Ids as an input. */
export interface Ids {
  /** A ULID, greater than every one before it from the same source. */
  ulid(): string;
  /** 16 random bytes, base64url: finds one's own append after a lost acknowledgement. */
  nonce(): string;
}

export const systemClock: Clock = { now: () => new Date() };

const nextUlid = monotonicFactory(randomFraction);

export const systemIds: Ids = {
  ulid: () => nextUlid(),
  nonce: () => randomText(16, 'base64url'),
};
