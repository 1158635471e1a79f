// Step 3: a nats-server of at least 2.14 (atomic batch publish and message schedules), its version checked wherever
// it comes from.
//
// The official release archive is no step of this list: its digest has to be pinned in this file, and none is here
// that somebody has compared with the archive itself.
import { connect } from 'node:net';
import { join } from 'node:path';
import { unpackDebian } from './debian.mjs';
import { atLeast, isExecutable, onPath, run } from './exec.mjs';

const FLOOR = [2, 14];
const floor = FLOOR.join('.');

async function versionOf(bin) {
  const { code, stdout } = await run(bin, ['--version'], { timeoutMs: 10_000 });
  return code === 0 ? /v(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1] : undefined;
}

/** What the server says of itself in the first line it sends to anyone who connects. */
function versionAt(url) {
  const { hostname, port } = new URL(url.includes('://') ? url : `nats://${url}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port || 4222) });
    let text = '';
    const done = (version) => {
      socket.destroy();
      resolve(version);
    };
    socket.setTimeout(3_000, () => done(undefined));
    socket.on('error', () => done(undefined));
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\r\n')) done(/"version":"([^"]+)"/.exec(text)?.[1]);
    });
  });
}

const found = (bin, version, where) => ({ detail: `${version} ${where}`, env: { NATS_SERVER_BIN: bin } });
const cached = (context) => join(context.tools, 'nats-server', 'usr', 'sbin', 'nats-server');

async function findRunning(urls) {
  for (const url of urls.split(',')) {
    const version = await versionAt(url.trim());
    if (!version) continue;
    if (atLeast(version, FLOOR))
      return { detail: `${version} already running, by INTERLOCK_NATS_URL`, env: {} };
    throw new Error(`the server at INTERLOCK_NATS_URL is ${version}; ${floor} or later is needed`);
  }
  throw new Error('no NATS server answers at INTERLOCK_NATS_URL');
}

async function find(context) {
  const { INTERLOCK_NATS_URL: url, NATS_SERVER_BIN: chosen } = context.env;
  // Tests and benches start and kill servers of their own: one that somebody runs does not do for them.
  if (url && !context.job.ownServers) return findRunning(url);
  if (chosen) {
    const version = await versionOf(chosen);
    if (version && atLeast(version, FLOOR)) return found(chosen, version, 'from NATS_SERVER_BIN');
    throw new Error(
      `NATS_SERVER_BIN=${chosen} ${version ? `is ${version}; ${floor} or later is needed` : 'does not run'}`,
    );
  }
  const here = onPath('nats-server', context.env);
  for (const [bin, where] of [
    [here, 'on PATH'],
    [cached(context), 'from .tools'],
  ]) {
    if (!bin || !isExecutable(bin)) continue;
    const version = await versionOf(bin);
    if (version && atLeast(version, FLOOR)) return found(bin, version, where);
  }
  return undefined;
}

async function obtain(context) {
  const reasons = [];
  try {
    await unpackDebian(context, {
      name: 'nats-server',
      suite: 'sid',
      into: join(context.tools, 'nats-server'),
    });
    const version = await versionOf(cached(context));
    if (version && atLeast(version, FLOOR))
      return found(cached(context), version, "from Debian's newest suite into .tools");
    reasons.push(`Debian's newest suite has ${version ?? 'one that does not run here'}`);
  } catch (error) {
    reasons.push(`Debian: ${error.message}`);
  }
  const docker = await run('docker', ['info'], { timeoutMs: 5_000 });
  if (docker.code !== 0) throw new Error([...reasons, 'Docker does not answer'].join('; '));
  if (context.job.ownServers)
    return { detail: `none here; the official image by Docker instead (${reasons.join('; ')})`, env: {} };
  throw new Error(
    `${reasons.join('; ')}. Docker answers: \`docker run -d -p 127.0.0.1:4222:4222 nats:2.15 -js\`, then INTERLOCK_NATS_URL=nats://127.0.0.1:4222`,
  );
}

export const natsServer = {
  name: 'nats-server',
  variable: 'NATS_SERVER_BIN',
  advice: `set NATS_SERVER_BIN to a nats-server of ${floor} or later, or INTERLOCK_NATS_URL to one that runs`,
  plan: () => "would unpack Debian's newest nats-server into .tools",
  find,
  obtain,
};
