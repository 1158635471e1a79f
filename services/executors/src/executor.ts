/** Makes a pool's executor of its tools. Anyone's pool starts the same way. */
import { executorDurable } from '@interlock/contracts';
import { type RunningService, runConsumer, type ServiceContext, type StartService } from '@interlock/kit';
import { type ExecutorConfig, loadExecutorConfig, spoolDirectory } from './config.ts';
import { createHandler } from './handler.ts';
import type { ExecutorHouse } from './house.ts';
import { servePreflight } from './preflight.ts';
import { listenForCancel } from './protocol/cancel.ts';
import { readBackByQuery } from './protocol/lane-view.ts';
import { RunningCalls } from './protocol/running.ts';
import { settleSpooled } from './protocol/settle.ts';
import { Spool } from './protocol/spool.ts';
import { keepRegistered } from './registration.ts';
import { probeSandbox } from './sandbox/probe.ts';
import { toolTable } from './tool-table.ts';
import type { Tool } from './tools/tool.ts';
import { SeenContent } from './workspace/seen-content.ts';

export interface ExecutorOptions {
  /** Name of the pool: one token. Its key is `executor-<pool>`. */
  readonly pool: string;
  readonly tools: readonly Tool[];
}

/** How long the spool of an earlier start is given before new work is taken. */
const SPOOL_LIMIT_MS = 10_000;

/** The start function of a pool. */
export function createExecutor({ pool, tools }: ExecutorOptions): StartService {
  return async (context) => {
    const config = loadExecutorConfig(context.env);
    const { path, bwrap } = { path: context.env.PATH ?? process.env.PATH ?? '', bwrap: config.bwrapBin };
    const sandbox = await probeSandbox({
      bwrap,
      path,
      extraPaths: config.sandboxRead,
      plainUid: config.sandboxUid,
      limits: {
        processes: config.sandboxProcesses,
        fileBytes: config.sandboxFileBytes,
        scratchBytes: config.sandboxScratchBytes,
      },
    });
    try {
      const stopping = new AbortController();
      const house = await createHouse(context, { pool, tools, config, sandbox, stopping: stopping.signal });
      return await startHouse(house, context, stopping, sandbox.dispose);
    } catch (error) {
      await sandbox.dispose();
      throw error;
    }
  };
}

interface HouseParts extends ExecutorOptions {
  readonly config: ExecutorConfig;
  readonly sandbox: ExecutorHouse['sandbox'];
  readonly stopping: AbortSignal;
}

async function createHouse(context: ServiceContext, parts: HouseParts): Promise<ExecutorHouse> {
  const { bus, keys, logger, clock, ids, instance } = context;
  const { pool, tools, config, sandbox, stopping } = parts;
  const writer = { ...context.writer, readBack: readBackByQuery(bus) };
  const directory = spoolDirectory(config, pool);
  let connectedAt = Number.NEGATIVE_INFINITY;
  bus.onReconnect(() => {
    connectedAt = performance.now();
  });
  return {
    ...{ bus, writer, keys, logger, clock, ids, config, pool, sandbox, stopping },
    worker: `executor-${pool}/${instance}`,
    tools: toolTable(pool, tools),
    workspaces: {
      roots: config.workspaceRoots,
      hidden: [...config.hiddenPaths, directory, ...(config.keysDir ? [config.keysDir] : [])],
    },
    limits: {
      maxChangeBytes: config.maxChangeBytes,
      maxFileBytes: config.maxFileBytes,
      maxArtifactBytes: config.maxArtifactBytes,
      maxTimeoutMs: config.maxTimeoutMs,
    },
    seen: new SeenContent(),
    spool: await Spool.open({ directory, writer, keys }),
    running: new RunningCalls(),
    isSettling: () => performance.now() - connectedAt < config.leaseMs / 3,
  };
}

async function startHouse(
  house: ExecutorHouse,
  { instance, metrics, keys }: ServiceContext,
  stopping: AbortController,
  dispose: () => Promise<void>,
): Promise<RunningService> {
  const { bus, pool, logger, running, config, sandbox } = house;
  if (sandbox.shortfall !== null)
    logger.warn({ level: sandbox.level, shortfall: sandbox.shortfall }, 'the sandbox is not complete');
  const spooled = settleSpooled({ ...house, leaseMs: config.leaseMs, stopping: stopping.signal }).catch(
    (error: unknown) => logger.error({ err: error }, 'spooled facts could not be settled'),
  );
  await Promise.race([spooled, new Promise((resolve) => setTimeout(resolve, SPOOL_LIMIT_MS).unref())]);
  const cancel = listenForCancel(bus, running);
  const preflight = servePreflight(house);
  const registration = keepRegistered(house, instance);
  const consumer = runConsumer(bus, {
    durable: executorDurable(pool),
    verifier: { keys, types: new Set(['tool.approval.allowed']) },
    concurrency: config.executorConcurrency,
    // Calls of one turn that may run side by side do; a call is never handled twice at a time.
    key: ({ subject }) => subject,
    handle: createHandler(house),
    metrics,
    logger,
  });
  return {
    ready: () => registration.isRegistered() && consumer.bound(),
    async stop() {
      const done = consumer.stop();
      const timer = setTimeout(() => running.stopAll('stopping'), config.stopGraceMs);
      stopping.abort();
      await Promise.all([done, preflight.stop(), registration.stop()]);
      clearTimeout(timer);
      cancel.stop();
      await dispose();
    },
  };
}
