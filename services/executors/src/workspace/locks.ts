/**
 * One writer at a time in a workspace, so that an effect is never blamed on the wrong call. Within this process: the
 * turn of a session is in order by itself, and its pools run side by side only for readers.
 */
const tails = new Map<string, Promise<void>>();

/** Waits for the workspace; what it resolves to gives it back. */
export async function lockWorkspace(root: string): Promise<() => void> {
  const before = tails.get(root);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tail = (before ?? Promise.resolve()).then(() => held);
  tails.set(root, tail);
  void tail.then(() => {
    if (tails.get(root) === tail) tails.delete(root);
  });
  await before;
  return release;
}
