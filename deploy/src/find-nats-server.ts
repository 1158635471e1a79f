import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** No nats-server program on this machine; the message says what to do. */
export class NatsServerMissingError extends Error {
  override readonly name = 'NatsServerMissingError';
  readonly code = 'nats_server_missing';
}

const CACHED = fileURLToPath(new URL('../../.tools/nats-server/usr/sbin/nats-server', import.meta.url));

/**
 * The nats-server program: `NATS_SERVER_BIN`, else the first on `PATH`, else the checkout's `.tools/`.
 * @throws NatsServerMissingError when there is none
 */
export function findNatsServer(env: NodeJS.ProcessEnv = process.env): string {
  const onPath = (env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  const candidates = env.NATS_SERVER_BIN ? [env.NATS_SERVER_BIN] : [...onPath, CACHED];
  const found = candidates.find(isExecutable);
  if (found) return found;
  throw new NatsServerMissingError(
    env.NATS_SERVER_BIN
      ? `NATS_SERVER_BIN=${env.NATS_SERVER_BIN} is not a program that can be run`
      : 'no nats-server found: run this through `npm run …`, which fetches one, or set NATS_SERVER_BIN',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
