import { ConnectionError, type NatsConnection, type Status } from '@nats-io/transport-node';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

/** Whether the connection is there, and who waits for it. */
export interface Link {
  connected(): boolean;
  /** The promise, or a rejection as soon as the connection is lost: the reply of a lost connection never comes. */
  unlessLost<Value>(promise: Promise<Value>): Promise<Value>;
  whenConnected(timeoutMs: number): Promise<boolean>;
  onReconnect(listener: () => void): () => void;
}

export function watchLink(nc: NatsConnection, logger: Logger): Link {
  let up = true;
  const waiting = new Set<(up: boolean) => void>();
  const listeners = new Set<() => void>();
  const inFlight = new Set<(error: Error) => void>();
  const settle = (value: boolean): void => {
    for (const resolve of waiting) resolve(value);
    waiting.clear();
  };
  const follow = (status: Status): void => {
    if (status.type === 'disconnect') {
      up = false;
      logger.warn({ server: status.server }, 'connection to NATS lost');
      for (const reject of inFlight) reject(new ConnectionError('connection lost'));
      inFlight.clear();
    } else if (status.type === 'reconnect') {
      up = true;
      logger.info({ server: status.server }, 'connected to NATS again');
      settle(true);
      for (const listener of listeners) listener();
    } else if (status.type === 'error') {
      logger.warn({ error: messageOf(status.error) }, 'NATS reports an error');
    }
  };
  const watch = async (): Promise<void> => {
    for await (const status of nc.status()) follow(status);
    up = false;
    settle(false);
  };
  void watch();
  return {
    connected: () => up && !nc.isClosed(),
    unlessLost(promise) {
      return new Promise((resolve, reject) => {
        const settled = <Value>(act: (value: Value) => void, value: Value): void => {
          inFlight.delete(reject);
          act(value);
        };
        inFlight.add(reject);
        promise.then(
          (value) => settled(resolve, value),
          (error: unknown) => settled(reject, error),
        );
      });
    },
    whenConnected(timeoutMs) {
      if (nc.isClosed()) return Promise.resolve(false);
      if (up) return Promise.resolve(true);
      return new Promise((resolve) => {
        const done = (value: boolean): void => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve(value);
        };
        const timer = setTimeout(() => done(false), timeoutMs);
        waiting.add(done);
      });
    },
    onReconnect(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
