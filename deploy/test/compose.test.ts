// The container files, as far as they can be checked without Docker: they parse, and what they name is there.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { NATS_NODES, writeComposeFiles } from '../src/compose-files.ts';
import { DEFAULT_POOLS, SERVICES, specsOf } from '../src/house-services.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCKERFILE = readFileSync(join(ROOT, 'deploy', 'Dockerfile'), 'utf8');
const COMPOSE_DIR = `\${INTERLOCK_COMPOSE_DIR:-./.interlock/compose}`;

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string().optional(),
      build: z
        .object({ context: z.string(), dockerfile: z.string(), args: z.record(z.string(), z.string()) })
        .optional(),
      user: z.string().optional(),
      environment: z.record(z.string(), z.coerce.string()).default({}),
      volumes: z.array(z.string()).default([]),
      networks: z.array(z.string()),
      depends_on: z.record(z.string(), z.unknown()).optional(),
      read_only: z.boolean().default(false),
      cap_drop: z.array(z.string()).default([]),
    }),
  ),
  networks: z.record(z.string(), z.object({ internal: z.boolean().default(false) })),
  volumes: z.record(z.string(), z.unknown()),
});
const compose = composeSchema.parse(
  parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }),
);
const specs = specsOf(SERVICES, DEFAULT_POOLS);
const serviceOf = (name: string) => {
  const service = compose.services[name];
  if (!service) throw new Error(`docker-compose.yml has no ${name}`);
  return service;
};

/** `FROM`, `COPY` and the like with their arguments, continued lines joined. */
const instructions = DOCKERFILE.replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line));

describe('docker-compose.yml', () => {
  test('has the servers and every service of the house, and nothing else', () => {
    expect(Object.keys(compose.services).toSorted()).toEqual(
      [...NATS_NODES, ...specs.map(({ name }) => name)].toSorted(),
    );
  });

  test('builds each service from the one Dockerfile with its folder', () => {
    for (const { name, kind } of specs) {
      const { build } = serviceOf(name);
      expect(build).toMatchObject({ context: '.', dockerfile: 'deploy/Dockerfile', args: { SERVICE: kind } });
      expect(existsSync(join(ROOT, 'services', build?.args.SERVICE ?? '?'))).toBe(true);
      for (const arg of Object.keys(build?.args ?? {}))
        expect(DOCKERFILE).toMatch(new RegExp(`^ARG ${arg}\\b`, 'm'));
    }
  });

  test('gives each service its own keys, read-only, and its own pool', () => {
    for (const { name, pool } of specs) {
      const { volumes, environment } = serviceOf(name);
      expect(volumes).toContain(`${COMPOSE_DIR}/services/${name}:/run/interlock:ro`);
      expect(volumes.filter((volume) => volume.includes('/run/interlock'))).toHaveLength(1);
      expect(environment.INTERLOCK_POOL).toBe(pool);
      expect(environment.INTERLOCK_NATS_URL).toBe(NATS_NODES.map((node) => `nats://${node}:4222`).join(','));
    }
    expect(serviceOf('event-store').environment.INTERLOCK_POOLS).toBe(DEFAULT_POOLS.join(','));
  });

  test('the key of the provider and the way out are the gateway’s alone', () => {
    for (const { name } of specs) {
      const { environment, networks } = serviceOf(name);
      const isGateway = name === 'provider-gateway';
      expect(`${name} ${'ANTHROPIC_API_KEY' in environment}`).toBe(`${name} ${isGateway}`);
      expect(`${name} ${networks.some((network) => !compose.networks[network]?.internal)}`).toBe(
        `${name} ${isGateway}`,
      );
    }
  });

  test('services run without root, without capabilities, on a read-only root', () => {
    for (const { name } of specs) {
      expect(serviceOf(name)).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(serviceOf(name).user).toMatch(/^\$\{INTERLOCK_UID:-1000\}/);
    }
  });

  test('each server has its own configuration and store; named volumes and networks are declared', () => {
    for (const node of NATS_NODES)
      expect(serviceOf(node).volumes).toEqual([
        `${COMPOSE_DIR}/nats/${node}.conf:/etc/nats/interlock.conf:ro`,
        `${node}:/data`,
      ]);
    for (const { volumes, networks, depends_on: after = {} } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [source = ''] = volume.split(/:(?=\/)/);
        if (!source.includes('/')) expect(Object.keys(compose.volumes)).toContain(source);
      }
      for (const network of networks) expect(Object.keys(compose.networks)).toContain(network);
      for (const name of Object.keys(after)) expect(Object.keys(compose.services)).toContain(name);
    }
  });
});

describe('Dockerfile', () => {
  test('starts from the official image, pinned', () => {
    expect(DOCKERFILE).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-\w+-slim$/m);
    const stages = instructions.filter((line) => line.startsWith('FROM '));
    expect(stages.length).toBeGreaterThan(1);
    for (const stage of stages) expect(stage).toContain(`\${NODE_IMAGE}`);
  });

  test('copies only what is there', () => {
    for (const line of instructions.filter((each) => each.startsWith('COPY ') && !each.includes('--from'))) {
      const [, ...paths] = line.split(/\s+/);
      for (const path of paths.slice(0, -1))
        expect(`${path} ${existsSync(join(ROOT, path))}`).toBe(`${path} true`);
    }
    expect(DOCKERFILE).toContain('node deploy/scripts/build.ts');
    expect(existsSync(join(ROOT, 'deploy', 'scripts', 'build.ts'))).toBe(true);
  });

  test('installs with the workspace’s own package manager', () => {
    const { version } =
      /pnpm@(?<version>[\d.]+)/.exec(readFileSync(join(ROOT, 'deploy/bootstrap/packages.mjs'), 'utf8'))
        ?.groups ?? {};
    expect([...DOCKERFILE.matchAll(/pnpm@([\d.]+)/g)].map(([, used]) => used)).toEqual([version, version]);
  });

  test('runs as nobody special and says whether it lives', () => {
    const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
    expect(last.some((line) => line.startsWith('USER node'))).toBe(true);
    expect(DOCKERFILE).toMatch(/HEALTHCHECK[\s\S]*\/livez/);
    expect(DOCKERFILE).toContain(`services/\${INTERLOCK_SERVICE}/src/main.js`);
  });
});

describe('the files that are mounted', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'interlock-compose-'));
    await writeComposeFiles({ dir, pools: DEFAULT_POOLS, person: 'ada' });
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test('are all there, each service’s private key in its own folder only', async () => {
    for (const node of NATS_NODES)
      expect((await readFile(join(dir, 'nats', `${node}.conf`), 'utf8')).length).toBeGreaterThan(0);
    for (const { name } of specs) {
      const files = (await readdir(join(dir, 'services', name))).toSorted();
      const signs =
        ['policy-engine', 'observer', 'event-store'].includes(name) || name.startsWith('executor-');
      expect(files).toEqual([...(signs ? [`${name}.key`] : []), 'trust.json', 'user.nk'].toSorted());
      for (const file of files.filter((each) => each !== 'trust.json'))
        expect((await stat(join(dir, 'services', name, file))).mode & 0o077).toBe(0);
    }
  });

  test('each executor has a folder for facts that outlives its container', async () => {
    for (const { name } of specs.filter(({ kind }) => kind === 'executors')) {
      expect(serviceOf(name).volumes).toContain(
        `${COMPOSE_DIR}/spool/${name}:${serviceOf(name).environment.INTERLOCK_SPOOL_DIR}`,
      );
      expect((await stat(join(dir, 'spool', name))).isDirectory()).toBe(true);
    }
  });

  test('made again: the same keys', async () => {
    const conf = (): Promise<string> => readFile(join(dir, 'nats', 'n1.conf'), 'utf8');
    const before = await conf();
    await writeComposeFiles({ dir, pools: DEFAULT_POOLS, person: 'ada' });
    expect(await conf()).toBe(before);
    await writeComposeFiles({ dir, pools: DEFAULT_POOLS, person: 'ada', syncInterval: 'always' });
    expect(await conf()).toContain('sync_interval: "always"');
  });
});
