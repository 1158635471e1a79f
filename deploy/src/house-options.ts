import type { LogLevel } from '@interlock/kit';
import type { Env } from './child-env.ts';
import type { ServiceKind } from './house-services.ts';
import type { UnitLine } from './house-unit.ts';

export interface HouseOptions {
  /** Default `defaultStateDir()`. */
  readonly stateDir?: string;
  /** A server that runs already; it gets no users from here. Default: one of this house's own. */
  readonly natsUrl?: string;
  /** Client port of the house's own server. Default a free one. */
  readonly natsPort?: number;
  readonly mode: 'in-process' | 'processes';
  /** Default all. */
  readonly services?: readonly ServiceKind[];
  /** Default `fs` and `shell`. */
  readonly pools?: readonly string[];
  /** Level of the services' logs, which go to files in the state folder. Default `info`. */
  readonly logLevel?: LogLevel;
  /** The folder the executors work in. */
  readonly workspace?: string;
  /** Where settings come from. Default this process's environment. */
  readonly env?: Env;
  /** Settings of single services, by name (`observer`, `executor-fs`); they win. */
  readonly serviceEnv?: Readonly<Record<string, Env>>;
  /** Who works with this house. Default the login name. */
  readonly person?: string;
  /** It ends with the command that starts it; noted for those who find it. Default false. */
  readonly isPrivate?: boolean;
  /** Processes that end by themselves are started again. Default true. */
  readonly restart?: boolean;
  /** Called for each service whenever it has come up. Must not throw. */
  readonly onLine?: (line: UnitLine) => void;
}
