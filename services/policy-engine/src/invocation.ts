/** The permit: all that the executor gets, and all it may do. Pure. */
import type { Effect, Invocation, SandboxLevel, SessionOpenedV1, ToolDefinition } from '@interlock/contracts';
import type { Call } from './call.ts';

/** Effects that need the workspace to be writable; project code writes its build output there. */
const WRITING: ReadonlySet<Effect> = new Set<Effect>([
  'runs-project-code',
  'writes-workspace',
  'writes-outside',
  'deletes',
  'installs-packages',
  'discards-vcs',
  'privilege',
  'unknown',
]);
/** Effects of which the network is the point: whoever allowed them allowed it. */
const NETWORKING: ReadonlySet<Effect> = new Set<Effect>(['network', 'installs-packages']);

/** In replay no executor may be reached: this pool answers with what is on record. */
const REPLAY_POOL = 'recorded';

/** From strongest to weakest. */
const LEVELS: readonly SandboxLevel[] = ['A', 'B', 'C', 'D'];

export interface InvocationRequest {
  readonly intent: string;
  readonly call: Call;
  readonly definition: ToolDefinition;
  readonly opened: Pick<SessionOpenedV1, 'workspace' | 'mode'>;
  readonly now: Date;
  /** How long the permit holds, in milliseconds. */
  readonly ttlMs: number;
}

/** Builds the whole invocation of an allowed call. */
export function invocationOf({
  intent,
  call,
  definition,
  opened,
  now,
  ttlMs,
}: InvocationRequest): Invocation {
  const { effects } = call.assessment;
  return {
    intent,
    tool: call.tool,
    toolDigest: call.toolDigest,
    pool: opened.mode === 'replay' ? REPLAY_POOL : call.pool,
    input: call.input,
    inputSha256: call.inputSha256,
    workspace: opened.workspace,
    sandbox: {
      // The decision rests on the host's level: one as good or better will do, a weaker one will not.
      levels: LEVELS.slice(0, LEVELS.indexOf(call.sandboxLevel) + 1),
      writable: effects.some((effect) => WRITING.has(effect)),
      network: effects.some((effect) => NETWORKING.has(effect)),
    },
    budgets: definition.budgets,
    baselines: call.baselines,
    resumePolicy: definition.resumePolicy,
    expiresAt: new Date(now.getTime() + ttlMs).toISOString(),
  };
}
