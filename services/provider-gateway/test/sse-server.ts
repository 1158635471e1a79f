/** A local provider: an HTTP server that speaks the wire format and does what each test says. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** When the connection of the answer was gone, by `performance.now()`; null while it is there. */
  closedAt: number | null;
}

/** Answers one request. */
export type Responder = (response: ServerResponse, seen: SeenRequest) => void;

export interface SseServer {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** What the next requests are answered with, in order; the last one stays. */
  answer(...responders: Responder[]): void;
  stop(): Promise<void>;
}

export async function startSseServer(): Promise<SseServer> {
  const requests: SeenRequest[] = [];
  let responders: Responder[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const seen: SeenRequest = {
        headers: request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
        closedAt: null,
      };
      requests.push(seen);
      response.on('close', () => {
        seen.closedAt = performance.now();
      });
      const respond = responders.length > 1 ? responders.shift() : responders[0];
      if (respond) respond(response, seen);
      else response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (...next) => {
      responders = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function open(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_test' });
}

/** The whole stream. */
export function stream(bytes: Uint8Array): Responder {
  return (response) => {
    open(response);
    response.end(bytes);
  };
}

/** The first `count` events, then nothing, with the connection open. */
export function stall(events: readonly string[], count: number): Responder {
  return (response) => {
    open(response);
    response.write(events.slice(0, count).join(''));
  };
}

/** The first `count` events, then the end of the connection, cleanly or not. */
export function cut(events: readonly string[], count: number, how: 'eof' | 'reset' = 'eof'): Responder {
  return (response) => {
    open(response);
    response.write(events.slice(0, count).join(''), () => {
      if (how === 'eof') response.end();
      else setTimeout(() => response.destroy(), 20);
    });
  };
}

/** An HTTP error. */
export function refuse(status: number, body: unknown, headers: Record<string, string> = {}): Responder {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}
