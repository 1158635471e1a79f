import canonicalize from 'canonicalize';

/**
 * RFC 8785 canonical JSON: keys sorted by UTF-16 code unit, no white space, `undefined` members left out.
 * A lone surrogate, which UTF-8 cannot carry, becomes U+FFFD, as it would on the wire.
 * Throws `TypeError` for what JSON has no form for: a non-finite number, a cycle, `undefined` itself.
 */
export function canonicalJson(value: unknown): string {
  const text = serialize(value);
  if (text === undefined) throw new TypeError('undefined has no JSON form');
  return text;
}

function serialize(value: unknown): string | undefined {
  try {
    return canonicalize(value);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!reason.includes('surrogate')) throw new TypeError(reason, { cause: error });
    return canonicalize(toWellFormed(value));
  }
}

/** A copy without lone surrogates; by JSON text, so that depth is no matter. */
function toWellFormed(value: unknown): unknown {
  // JSON.stringify escapes a lone surrogate as \udXXX and nothing else so; an escaped backslash before it is skipped.
  const text = JSON.stringify(value).replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/gi, (match) =>
    match === '\\\\' ? match : '\ufffd',
  );
  return JSON.parse(text);
}

/** As `canonicalJson`, but a lone surrogate throws too: for bytes that a signature or a hash must cover exactly. */
export function strictCanonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('undefined has no JSON form');
  return text;
}

/**
 * True when canonical JSON carries the value without loss: finite numbers, well-formed strings, no cycle.
 * `JSON.parse` can yield values that are not (`1e400`, `"\ud800"`); a writer must not store those as if they were.
 */
export function isCanonical(value: unknown): boolean {
  try {
    return canonicalize(value) !== undefined;
  } catch {
    return false;
  }
}
