import { createServer } from 'node:net';

// Below the range from which Linux takes the local port of outgoing connections. Inside it a client that tries to
// reach a server which is just down can be given the server's own port, connect to itself and keep the port.
const FIRST = 15_000;
const LAST = 31_999;

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** `count` different local ports that nothing listens on at this moment; each was bound once to be sure. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}
