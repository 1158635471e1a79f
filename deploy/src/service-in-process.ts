/** One service within this process, on a connection of its own. */
import { readFile } from 'node:fs/promises';
import { type HousedService, type Logger, type StartService, startInProcess } from '@interlock/kit';
import type { Env } from './child-env.ts';
import type { RunningUnit, UnitLine } from './house-unit.ts';

export interface InProcessOptions {
  readonly name: string;
  readonly start: StartService;
  readonly url: string;
  readonly keysDir: string;
  readonly nkeySeedFile?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** Called at each start. Must not throw. */
  readonly onUp: (line: UnitLine) => void;
}

export async function startServiceInProcess(options: InProcessOptions): Promise<RunningUnit> {
  const { name, start, url, keysDir, nkeySeedFile, env, logger } = options;
  const nkeySeed = nkeySeedFile === undefined ? undefined : (await readFile(nkeySeedFile, 'utf8')).trim();
  let service: HousedService | undefined;

  const launch = async (extra: Env = {}): Promise<void> => {
    const settings = { ...env, ...extra };
    service = await startInProcess(name, start, { url, keysDir, logger, env: settings, nkeySeed });
    options.onUp({ service: name, pid: process.pid, health: service.health });
  };
  const stop = async (): Promise<void> => {
    const ending = service;
    service = undefined;
    await ending?.stop();
  };

  await launch();
  return {
    name,
    get pid() {
      return service ? process.pid : undefined;
    },
    get health() {
      return service?.health ?? '';
    },
    isReady: async () => (await service?.ready()) ?? false,
    kill: () =>
      Promise.reject(new Error(`${name} has no process of its own: start the house with mode "processes"`)),
    stop,
    async forceStop() {
      service?.bus.nc.close().catch((error: unknown) => logger.warn({ err: error }, 'closing'));
      service = undefined;
    },
    async restart(extra) {
      await stop();
      await launch(extra);
    },
  };
}
