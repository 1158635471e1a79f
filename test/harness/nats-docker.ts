// The official NATS image by testcontainers, for machines that have Docker and no nats-server.
//
// Not the module @testcontainers/nats: it always starts the server with --user and --pass, which a server whose
// configuration has accounts refuses.
import { freePorts, waitForHealth } from '@interlock/deploy';
import { GenericContainer, getContainerRuntimeClient, Network, Wait } from 'testcontainers';
import type { Cluster, NatsNode, NatsOptions } from './nats.ts';

const IMAGE = process.env.INTERLOCK_NATS_IMAGE ?? 'nats:2.15';
const CONFIG = '/etc/interlock.conf';
const STORE = '/data';

/**
 * Starts the nodes as containers on fixed host ports, so that a restart comes back under the same addresses.
 * The containers are removed by testcontainers' own reaper when this process is gone.
 */
export async function startContainers(options: NatsOptions, storeDir: string): Promise<Cluster> {
  const { nodes: count = 1 } = options;
  const free = await freePorts(count * 2);
  const network = count > 1 ? await new Network().start() : undefined;
  const names = free.slice(0, count).map((_, index) => `n${index + 1}`);
  const ports = free.slice(0, count).map((port) => (count === 1 && options.port) || port);
  const monitorPorts = free.slice(count);
  const containers = await Promise.all(
    names.map((name, index) => {
      const container = new GenericContainer(IMAGE)
        .withExposedPorts(
          { container: 4222, host: ports[index] ?? 0 },
          { container: 8222, host: monitorPorts[index] ?? 0 },
        )
        .withCommand(['-c', CONFIG])
        .withCopyContentToContainer([{ content: configOf(name, names, options), target: CONFIG }])
        .withBindMounts([{ source: `${storeDir}/${name}`, target: STORE }])
        .withWaitStrategy(Wait.forHttp('/healthz', 8222).forStatusCode(200));
      return (network ? container.withNetwork(network).withNetworkAliases(name) : container).start();
    }),
  );
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const nodes = containers.map((container, index): NatsNode => {
    const raw = dockerode.getContainer(container.getId());
    const isRunning = async (): Promise<boolean> => (await raw.inspect()).State.Running;
    return {
      url: `nats://${container.getHost()}:${ports[index]}`,
      pid: undefined,
      start: async () => void (!(await isRunning()) && (await raw.start())),
      stop: async () => void ((await isRunning()) && (await raw.stop())),
      kill: async () => void ((await isRunning()) && (await raw.kill())),
      pause: () => raw.pause(),
      resume: () => raw.unpause(),
    };
  });
  const host = containers[0]?.getHost() ?? 'localhost';
  const monitors = monitorPorts.map((port) => `http://${host}:${port}`);
  return {
    nodes,
    ready: async () => void (await Promise.all(monitors.map((monitor) => waitForHealth(monitor)))),
  };
}

function configOf(name: string, names: readonly string[], options: NatsOptions): string {
  const sync = options.syncInterval ? `, sync_interval: "${options.syncInterval}"` : '';
  const routes = names.map((other) => `"nats://${other}:6222"`).join(', ');
  return [
    `server_name: ${name}`,
    'listen: "0.0.0.0:4222"',
    'http: "0.0.0.0:8222"',
    `jetstream { store_dir: "${STORE}"${sync} }`,
    // Addresses inside the Docker network would be no use to a client outside it.
    ...(names.length > 1
      ? [`cluster { name: interlock, listen: "0.0.0.0:6222", no_advertise: true, routes: [${routes}] }`]
      : []),
    options.config ?? '',
    '',
  ].join('\n');
}
