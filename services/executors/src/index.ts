import { ConfigError, type StartService } from '@interlock/kit';
import { loadExecutorConfig } from './config.ts';
import { createExecutor } from './executor.ts';
import { POOLS } from './pools.ts';

export { createExecutor, type ExecutorOptions } from './executor.ts';
export { probeSandboxLevel } from './sandbox/level.ts';
export {
  type Accepted,
  defineTool,
  type Effects,
  type ExecutionContext,
  NO_EFFECTS,
  type Preflight,
  type PreflightContext,
  type ProbeContext,
  type ProbeResult,
  type Rejected,
  type Tool,
  type ToolResult,
  type ToolSpec,
} from './tools/tool.ts';

/** Starts the executor of the built-in pool that `INTERLOCK_POOL` names. */
export const startExecutor: StartService = (context) => {
  const { pool } = loadExecutorConfig(context.env);
  const tools = POOLS[pool];
  if (!tools) {
    const expected = Object.keys(POOLS).join(' or ');
    throw new ConfigError([{ variable: 'INTERLOCK_POOL', problem: `no pool "${pool}"`, expected }]);
  }
  return createExecutor({ pool, tools: tools() })(context);
};
