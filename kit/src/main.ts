import { readFile } from 'node:fs/promises';
import { type BaseConfig, baseConfigSchema } from './base-config.ts';
import { ConfigError, loadConfig } from './config.ts';
import { messageOf } from './errors.ts';
import { createLogger, type Logger } from './log.ts';
import { type HousedService, type StartService, startInProcess } from './service.ts';

/**
 * The whole `main.ts` of a service. Ends the process: 0 after SIGTERM or SIGINT, 1 when it cannot start or loses its
 * connection for good, 2 for wrong settings. With `INTERLOCK_ANNOUNCE=1` it prints one JSON line
 * `{"service","pid","health"}` on standard output when it is up.
 */
export async function runMain(name: string, start: StartService): Promise<void> {
  const { env } = process;
  let config: BaseConfig;
  try {
    config = loadConfig(baseConfigSchema, { env });
  } catch (error) {
    process.stderr.write(`${name}: ${messageOf(error)}\n`);
    process.exit(error instanceof ConfigError ? 2 : 1);
  }
  const logger = createLogger({ level: config.logLevel });
  try {
    const service = await startInProcess(name, start, {
      url: config.natsUrl,
      keysDir: config.keysDir,
      logger,
      env,
      nkeySeed: config.nkeySeedFile ? (await readFile(config.nkeySeedFile, 'utf8')).trim() : undefined,
      apiPrefix: config.natsApiPrefix,
      connectTimeoutMs: config.natsConnectTimeoutMs,
      healthPort: config.healthPort,
      healthHost: config.healthHost,
      ownProcess: true,
    });
    endOnSignal(service, logger, config.stopTimeoutMs);
    if (env.INTERLOCK_ANNOUNCE === '1') {
      process.stdout.write(
        `${JSON.stringify({ service: name, pid: process.pid, health: service.health })}\n`,
      );
    }
  } catch (error) {
    logger.fatal({ err: error }, 'cannot start');
    process.exit(1);
  }
}

function endOnSignal(service: HousedService, logger: Logger, limitMs: number): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('not stopped in time');
      process.exit(1);
    }, limitMs).unref();
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'stopped with an error');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  void service.bus.closed().then((error) => {
    if (stopping) return;
    logger.fatal({ err: error }, 'the connection is closed for good');
    process.exit(1);
  });
}
