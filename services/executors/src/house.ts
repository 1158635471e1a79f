/** What the parts of a running executor share. */
import type { Bus, Clock, Ids, KeyRing, Logger, Writer } from '@interlock/kit';
import type { ExecutorConfig } from './config.ts';
import type { RunningCalls } from './protocol/running.ts';
import type { Spool } from './protocol/spool.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { ToolTable } from './tool-table.ts';
import type { ToolLimits } from './tools/tool.ts';
import type { WorkspacePolicy } from './workspace/paths.ts';
import type { SeenContent } from './workspace/seen-content.ts';

export interface ExecutorHouse {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly keys: KeyRing;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly config: ExecutorConfig;
  readonly pool: string;
  /** This process, in claims and facts. */
  readonly worker: string;
  readonly tools: ToolTable;
  readonly sandbox: Sandbox;
  readonly workspaces: WorkspacePolicy;
  readonly limits: ToolLimits;
  readonly seen: SeenContent;
  readonly spool: Spool;
  readonly running: RunningCalls;
  /** True for a while after the connection came back. */
  readonly isSettling: () => boolean;
  /** Aborted when the executor stops. */
  readonly stopping: AbortSignal;
}
