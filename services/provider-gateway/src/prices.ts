/**
 * US dollars per million tokens of the Messages API, as published at https://platform.claude.com/docs/en/about-claude/pricing
 * (state of 2026-10-24). A model that is not here has no known price: its cost is null, not 0.
 */
import type { Usage } from '@interlock/contracts';

interface Price {
  readonly input: number;
  readonly write5m: number;
  readonly write1h: number;
  readonly read: number;
  readonly output: number;
}

function price(input: number, output: number, read: number): Price {
  return { input, write5m: input * 1.25, write1h: input * 2, read, output };
}

/** First match wins; names may carry a date or a variant behind them. */
const PRICES: readonly (readonly [RegExp, Price, { readonly above: number; readonly price: Price }?])[] = [
  [/^claude-(fable|mythos)-5-1\b/, price(10, 50, 0.25)],
  [/^claude-(fable|mythos)-5(-20\d{6})?$/, price(10, 50, 1)],
  [/^claude-opus-5-5\b/, price(4, 20, 0.2)],
  [/^claude-opus-5(-20\d{6})?$/, price(5, 25, 0.5)],
  [/^claude-opus-4-[5-8]\b/, price(5, 25, 0.5)],
  [/^claude-opus-4(-1|-0)?(-20\d{6})?$/, price(15, 75, 1.5)],
  [/^claude-sonnet-5-5\b/, price(2, 10, 0.1)],
  [/^claude-sonnet-5(-20\d{6})?$/, price(2, 10, 0.2)],
  [/^claude-sonnet-4(-[0-6])?(-20\d{6})?$/, price(3, 15, 0.3)],
  // The price of all tokens of a request rises with the length of its prompt.
  [/^claude-haiku-5-5\b/, price(0.1, 0.5, 0.01), { above: 100_000, price: price(0.5, 2.5, 0.05) }],
  [/^claude-haiku-4-5\b/, price(1, 5, 0.1)],
];

const MILLION = 1_000_000;

/** Cost of a usage at the published price; null where the usage or the price is not known. */
export function costUsd(model: string, usage: Usage | null, cacheTtl: '5m' | '1h'): number | null {
  const row = PRICES.find(([name]) => name.test(model));
  if (!row || !usage) return null;
  const { inputUncached, cacheRead, cacheWrite, output } = usage;
  const [, base, long] = row;
  const rate = long && inputUncached + cacheRead + cacheWrite > long.above ? long.price : base;
  const write = cacheTtl === '1h' ? rate.write1h : rate.write5m;
  return (
    (inputUncached * rate.input + cacheRead * rate.read + cacheWrite * write + output * rate.output) / MILLION
  );
}
