/**
 * Locks within this process, by name: a workspace has one writer at a time, so that an effect is never blamed on the
 * wrong call; a file has one between the last look at it and its replacement. Fair: in the order they were asked for.
 */
const tails = new Map<string, Promise<void>>();

/** Waits for the lock; what it resolves to gives it back, once or more often. */
export async function lock(name: string): Promise<() => void> {
  const before = tails.get(name);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const tail = (before ?? Promise.resolve()).then(() => held);
  tails.set(name, tail);
  void tail.then(() => {
    if (tails.get(name) === tail) tails.delete(name);
  });
  await before;
  return release;
}
