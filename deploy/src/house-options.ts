import type { LogLevel } from '@interlock/kit';
import type { Env } from './child-env.ts';
import type { ServiceKind } from './house-services.ts';
import type { UnitLine } from './house-unit.ts';

export interface HouseOptions {
  /** Default `defaultStateDir()`. */
  readonly stateDir?: string | undefined;
  /** A server that runs already; it gets no users from here. Default: one of this house's own. */
  readonly natsUrl?: string | undefined;
  /** Client port of the house's own server. Default a free one. */
  readonly natsPort?: number | undefined;
  readonly mode: 'in-process' | 'processes';
  /** Default all. */
  readonly services?: readonly ServiceKind[] | undefined;
  /** Default `fs` and `shell`. */
  readonly pools?: readonly string[] | undefined;
  /** Level of the services' logs, which go to files in the state folder. Default `info`. */
  readonly logLevel?: LogLevel | undefined;
  /** Where the person works: noted for those who find the house. It limits nothing. */
  readonly workspace?: string | undefined;
  /** Folders that the workspaces of sessions must be in. Default anywhere. */
  readonly workspaceRoots?: readonly string[] | undefined;
  /** Where settings come from. Default this process's environment. */
  readonly env?: Env | undefined;
  /** Settings of single services, by name (`observer`, `executor-fs`); they win. */
  readonly serviceEnv?: Readonly<Record<string, Env>> | undefined;
  /** Who works with this house. Default the login name. */
  readonly person?: string | undefined;
  /** It ends with the command that starts it; noted for those who find it. Default false. */
  readonly isPrivate?: boolean | undefined;
  /** Processes that end by themselves are started again. Default true. */
  readonly restart?: boolean | undefined;
  /** Called for each service whenever it has come up. Must not throw. */
  readonly onLine?: ((line: UnitLine) => void) | undefined;
}
