/** Names whose values never reach a log, at any place, in any case. */
const SECRET_NAMES = new Set([
  'api-key',
  'api_key',
  'apikey',
  'authorization',
  'cookie',
  'nkeyseed',
  'password',
  'private_key',
  'privatekey',
  'proxy-authorization',
  'secret',
  'seed',
  'set-cookie',
  'signature',
  'token',
  'x-api-key',
]);

export const REDACTED = '[redacted]';
/** Nothing that is logged on purpose is deeper; what is, is left out. */
const DEPTH = 8;

/** The value without secrets; the same object when it holds none. Plain objects and arrays only: others say themselves. */
export function redact<Value>(value: Value): Value {
  return walk(value, DEPTH) as Value;
}

function walk(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '[deep]';
  if (Array.isArray(value)) return copied(value, depth, [...value]);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return copied(value as Record<string, unknown>, depth, { ...value } as Record<string, unknown>);
}

function copied<Whole extends Record<string, unknown> | unknown[]>(
  whole: Whole,
  depth: number,
  copy: Whole,
): Whole {
  let changed = false;
  for (const [key, member] of Object.entries(whole)) {
    const kept = SECRET_NAMES.has(key.toLowerCase()) ? REDACTED : walk(member, depth - 1);
    if (kept === member) continue;
    changed = true;
    Object.defineProperty(copy, key, { value: kept, enumerable: true, writable: true, configurable: true });
  }
  return changed ? copy : whole;
}
