/** The thread that searches: a pattern that never ends is ended with its thread, and the executor goes on. */
import { parentPort } from 'node:worker_threads';
import type { SearchRequest } from './requests.ts';
import { search } from './search.ts';

parentPort?.on('message', (request: SearchRequest) => {
  search(request).then(
    (reply) => parentPort?.postMessage({ reply }),
    (error: unknown) =>
      parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) }),
  );
});
