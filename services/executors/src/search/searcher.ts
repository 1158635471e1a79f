/**
 * Searches in a thread of their own, because a regular expression of a model may take for ever.
 *
 * Q1. One thread serves one search at a time; it is kept for the next, and ended when its search is stopped.
 */
import { Worker } from 'node:worker_threads';
import type { SearchReply, SearchRequest } from './requests.ts';

/** As TypeScript in a checkout and as JavaScript where it was built. */
const THREAD = new URL(import.meta.resolve('@interlock/executors/search-thread'));
const MAX_IDLE = 2;
const HEAP_MB = 512;

const idle: Worker[] = [];

/** The search was stopped; the reason is the signal's. */
export class SearchStoppedError extends Error {
  override readonly name = 'SearchStoppedError';
  readonly code = 'timeout';
}

/**
 * Runs a search.
 * @throws SearchStoppedError when `signal` is aborted; Error when the search itself fails
 */
export function runSearch(request: SearchRequest, signal: AbortSignal): Promise<SearchReply> {
  if (signal.aborted) return Promise.reject(new SearchStoppedError('stopped before it began'));
  const worker = idle.pop() ?? startThread();
  worker.ref();
  return new Promise((resolve, reject) => {
    const settle = (act: () => void, keep: boolean): void => {
      worker.off('message', onMessage);
      worker.off('error', onError);
      signal.removeEventListener('abort', onAbort);
      if (keep && idle.length < MAX_IDLE) {
        worker.unref();
        idle.push(worker);
      } else void worker.terminate();
      act();
    };
    const onMessage = (message: { reply: SearchReply } | { error: string }): void => {
      settle(() => ('reply' in message ? resolve(message.reply) : reject(new Error(message.error))), true);
    };
    const onError = (error: Error): void => settle(() => reject(error), false);
    const onAbort = (): void => settle(() => reject(new SearchStoppedError('the search was stopped')), false);
    worker.on('message', onMessage);
    worker.on('error', onError);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.postMessage(request);
  });
}

function startThread(): Worker {
  const worker = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }, env: {} });
  // One that dies while nobody uses it is simply not there for the next search.
  worker.on('exit', () => {
    const at = idle.indexOf(worker);
    if (at >= 0) idle.splice(at, 1);
  });
  return worker;
}
