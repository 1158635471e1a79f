import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { messageOf } from './errors.ts';

export interface HealthOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Default `127.0.0.1`; containers need `0.0.0.0`. */
  readonly host?: string | undefined;
  /** Ready when all say true; one that throws or takes above two seconds says false. */
  readonly checks: Readonly<Record<string, () => Promise<boolean> | boolean>>;
  readonly metrics: Registry;
}

export interface Health {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const CHECK_LIMIT_MS = 2000;

/** Serves `/livez` (200 while the event loop turns), `/readyz` (200 or 503, JSON of the checks) and `/metrics`. */
export async function startHealth({
  port,
  host = '127.0.0.1',
  checks,
  metrics,
}: HealthOptions): Promise<Health> {
  const server = createServer((request, response) => {
    void respond(request.url ?? '/', response).catch((error: unknown) => {
      reply(response, 500, 'text/plain', messageOf(error));
    });
  });
  const respond = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/livez') {
      reply(response, 200, 'application/json', '{"live":true}');
    } else if (path === '/readyz') {
      const results = await runChecks(checks);
      const ready = Object.values(results).every(Boolean);
      reply(response, ready ? 200 : 503, 'application/json', JSON.stringify({ ready, checks: results }));
    } else if (path === '/metrics') {
      reply(response, 200, metrics.contentType, await metrics.metrics());
    } else {
      reply(response, 404, 'text/plain', 'not found');
    }
  };
  const bound = await listen(server, port, host);
  return {
    port: bound,
    url: `http://${host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}

async function runChecks(checks: HealthOptions['checks']): Promise<Record<string, boolean>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await passes(check)] as const),
  );
  return Object.fromEntries(results);
}

async function passes(check: () => Promise<boolean> | boolean): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_LIMIT_MS);
  });
  try {
    return await Promise.race([Promise.resolve(check()), late]);
  } catch {
    // A check that fails is a check that says no.
    return false;
  } finally {
    clearTimeout(timer);
  }
}
