/**
 * Real pipes for the output of a program. Node's own are sockets, which `/dev/stderr` and `/dev/stdout` cannot open.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
const run = promisify(execFile);

export interface OutputPipe {
  /** Descriptor for the program. */
  readonly writeEnd: number;
  /** What the program writes; ends when all who hold the pipe have closed it. */
  readonly stream: Socket;
  /** Closes this process's copy of the write end, once the program has its own. */
  release(): void;
}

/** @param directory one that only this process may enter; the names are gone when this returns */
export async function createOutputPipes(
  directory: string,
  id: string,
): Promise<readonly [OutputPipe, OutputPipe]> {
  const paths = [join(directory, `${id}.out`), join(directory, `${id}.err`)] as const;
  // Writable for all: the program, another user, opens it again by its descriptor; nobody else can reach the name.
  await run('mkfifo', ['-m', '622', ...paths]);
  try {
    return [openPipe(paths[0]), openPipe(paths[1])];
  } finally {
    for (const path of paths) rmSync(path, { force: true });
  }
}

function openPipe(path: string): OutputPipe {
  const readEnd = openSync(path, O_RDONLY | O_NONBLOCK);
  const writeEnd = openSync(path, O_WRONLY);
  const stream = new Socket({ fd: readEnd, readable: true, writable: false });
  let released = false;
  return {
    writeEnd,
    stream,
    release() {
      if (released) return;
      released = true;
      closeSync(writeEnd);
    },
  };
}
