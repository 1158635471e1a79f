/** Puts a house together, and takes it apart again. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createLogger, ensureKeys, type Logger } from '@interlock/kit';
import { childEnv, type Env } from './child-env.ts';
import { keySpecs } from './house-keys.ts';
import { type HouseLayout, isolateKeys } from './house-layout.ts';
import type { HouseOptions } from './house-options.ts';
import { dropNote, type HouseNote, updateNote } from './house-registry.ts';
import { DEFAULT_POOLS, loadStart, mainUrl, SERVICES, type ServiceSpec, specsOf } from './house-services.ts';
import { endUnits, type RunningUnit, type UnitLine, untilReady } from './house-unit.ts';
import { renderAccess } from './nats-config.ts';
import { launchNats, type NatsServer } from './nats-launcher.ts';
import { ensureUserKeys, seedFileOf } from './nkeys.ts';
import { brokerUsers } from './permissions.ts';
import { startServiceInProcess } from './service-in-process.ts';
import { startServiceProcess } from './service-process.ts';

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

export interface BuiltHouse {
  readonly url: string;
  readonly nats: NatsServer | undefined;
  health(): Promise<Record<string, boolean>>;
  pids(): Record<string, number>;
  kill(service: string, signal: NodeJS.Signals): Promise<void>;
  restart(service: string, extra?: Env): Promise<void>;
  stop(): Promise<void>;
}

/** Starts everything and waits until it is ready. Where something does not start, all that did is ended again. */
export async function buildHouse(
  options: HouseOptions,
  layout: HouseLayout,
  note: HouseNote,
): Promise<BuiltHouse> {
  const builder = new Builder(options, layout, note);
  try {
    await builder.build();
    return builder;
  } catch (error) {
    await builder.stop();
    throw error;
  }
}

class Builder implements BuiltHouse {
  readonly #options: HouseOptions;
  readonly #layout: HouseLayout;
  readonly #note: HouseNote;
  readonly #pools: readonly string[];
  readonly #logs: WriteStream;
  readonly #logger: Logger;
  readonly #units = new Map<string, RunningUnit>();
  #nats: NatsServer | undefined;
  #url: string;
  #noting: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: HouseOptions, layout: HouseLayout, note: HouseNote) {
    this.#options = options;
    this.#layout = layout;
    this.#note = note;
    this.#pools = options.pools ?? DEFAULT_POOLS;
    this.#url = options.natsUrl ?? '';
    this.#logs = createWriteStream(join(layout.logsDir, 'house.log'), { flags: 'a', mode: 0o600 });
    this.#logger = createLogger({
      service: 'house',
      instance: String(process.pid),
      level: options.logLevel,
      destination: this.#logs,
    });
  }

  get url(): string {
    return this.#url;
  }

  get nats(): NatsServer | undefined {
    return this.#nats;
  }

  async build(): Promise<void> {
    await ensureKeys(this.#layout.keysDir, keySpecs(this.#pools, this.#note.person));
    if (this.#options.natsUrl === undefined) await this.#startServer();
    const [first, ...others] = specsOf(this.#options.services ?? SERVICES, this.#pools);
    if (first) await this.#startUnit(first);
    if (first?.kind === 'event-store') await untilReady(this.#units.values(), READY_TIMEOUT_MS);
    // All are waited for, so that none is still starting when a failed house is ended.
    const starts = await Promise.allSettled(others.map((spec) => this.#startUnit(spec)));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed) throw failed.reason;
    await untilReady(this.#units.values(), READY_TIMEOUT_MS);
    await this.#tellNote();
  }

  async health(): Promise<Record<string, boolean>> {
    const units = [...this.#units.values()];
    return Object.fromEntries(
      await Promise.all(units.map(async (unit) => [unit.name, await unit.isReady()] as const)),
    );
  }

  pids(): Record<string, number> {
    const running = [...this.#units.values()].flatMap(({ name, pid }) =>
      pid === undefined ? [] : [[name, pid] as const],
    );
    return Object.fromEntries(running);
  }

  async kill(service: string, signal: NodeJS.Signals): Promise<void> {
    await this.#unit(service).kill(signal);
  }

  async restart(service: string, extra?: Env): Promise<void> {
    await this.#unit(service).restart(extra);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  async #end(): Promise<void> {
    const isLast = ({ name }: RunningUnit): boolean => name === 'event-store';
    const units = [...this.#units.values()];
    const deadline = performance.now() + STOP_TIMEOUT_MS;
    const notEnded = (service: string, error: unknown): void =>
      this.#logger.error({ service, err: error }, 'did not end as asked');
    await endUnits(
      units.filter((unit) => !isLast(unit)),
      deadline,
      notEnded,
    );
    await endUnits(units.filter(isLast), deadline, notEnded);
    await this.#nats?.stop();
    await this.#noting;
    await dropNote(this.#layout.registryFile);
    await new Promise<void>((resolve) => this.#logs.end(resolve));
  }

  async #startServer(): Promise<void> {
    const users = brokerUsers({ pools: this.#pools });
    const names = users.map(({ name }) => name);
    const keys = await ensureUserKeys(this.#layout.nkeysDir, names);
    const { natsPort: port } = this.#options;
    this.#nats = await launchNats({
      dir: this.#layout.natsDir,
      config: renderAccess(users.map((user) => ({ ...user, nkey: keys.get(user.name)?.publicKey ?? '' }))),
      ...(port === undefined ? {} : { port }),
      onUnexpectedEnd: (tail) => {
        this.#logger.error({ tail }, 'nats-server ended by itself');
        void this.#startServerAgain();
      },
    });
    this.#url = this.#nats.url;
  }

  async #startServerAgain(): Promise<void> {
    try {
      if (this.#stopping === undefined) await this.#nats?.start();
    } catch (error) {
      this.#logger.fatal({ err: error }, 'nats-server does not start again');
    }
  }

  async #startUnit(spec: ServiceSpec): Promise<void> {
    const {
      mode,
      env: base = process.env,
      natsUrl,
      workspaceRoots,
      serviceEnv,
      restart = true,
    } = this.#options;
    const { name, kind } = spec;
    const url = this.#url;
    const nkeySeedFile = natsUrl === undefined ? seedFileOf(this.#layout.nkeysDir, name) : undefined;
    const keysDir = mode === 'processes' ? await isolateKeys(this.#layout, name) : this.#layout.keysDir;
    const env = childEnv(spec, base, {
      url,
      keysDir,
      nkeySeedFile,
      logLevel: this.#options.logLevel ?? 'info',
      pools: this.#pools,
      hidden: [this.#layout.stateDir],
      workspaceRoots,
      own: serviceEnv?.[name],
    });
    const onUp = (line: UnitLine): void => this.#onUp(line);
    const unit =
      mode === 'processes'
        ? await startServiceProcess({
            name,
            env,
            onUp,
            main: mainUrl(kind),
            logFile: join(this.#layout.logsDir, `${name}.log`),
            restart,
            onDown: (why) => this.#logger.error({ service: name, why }, 'a service is down'),
          })
        : await startServiceInProcess({
            name,
            env,
            onUp,
            start: await loadStart(kind),
            url,
            keysDir,
            nkeySeedFile,
            logger: this.#logger,
          });
    this.#units.set(name, unit);
  }

  #onUp(line: UnitLine): void {
    this.#options.onLine?.(line);
    // While the house is put together its note says that it is starting, and nothing else.
    if (!this.#units.has(line.service)) return;
    this.#tellNote().catch((error: unknown) => this.#logger.warn({ err: error }, 'house.json'));
  }

  /** Writes what runs now into the note. */
  #tellNote(): Promise<void> {
    this.#noting = this.#noting.then(async () => {
      if (this.#stopping !== undefined) return;
      await updateNote(this.#layout.registryFile, { ...this.#note, url: this.#url, pids: this.pids() });
    });
    return this.#noting;
  }

  #unit(name: string): RunningUnit {
    const unit = this.#units.get(name);
    if (unit) return unit;
    throw new Error(`there is no service "${name}" here; there are ${[...this.#units.keys()].join(', ')}`);
  }
}
