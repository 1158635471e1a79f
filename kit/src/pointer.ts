/** JSON pointers (RFC 6901) over plain JSON: own members only, never a prototype. */
export type PathToken = string | number;

export function toPointer(path: readonly PathToken[]): string {
  return path.map((token) => `/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function parsePointer(pointer: string): string[] | null {
  if (!pointer.startsWith('/')) return null;
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a path; `undefined` where there is none. */
export function valueAt(value: unknown, path: readonly PathToken[]): unknown {
  let here = value;
  for (const token of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, token)) return undefined;
    here = (here as Record<PathToken, unknown>)[token];
  }
  return here;
}

/** A copy with another value at a path that exists; only what lies on the path is copied. */
export function replaceAt<Whole extends object>(
  whole: Whole,
  path: readonly PathToken[],
  value: unknown,
): Whole {
  const [token, ...rest] = path;
  if (token === undefined) return whole;
  const inner = (whole as Record<PathToken, unknown>)[token];
  const next = rest.length === 0 ? value : replaceAt(inner as object, rest, value);
  if (Array.isArray(whole)) return whole.with(Number(token), next) as unknown as Whole;
  // A computed key defines an own member, also for `__proto__`.
  return { ...whole, [token]: next };
}
