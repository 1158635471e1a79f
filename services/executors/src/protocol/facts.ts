/** The data of a call's last event. Pure. */
import type {
  ArtifactRef,
  EventInput,
  Invocation,
  SandboxLevel,
  ToolExecutionCompletedV1,
} from '@interlock/contracts';
import { codesOf, type ErrorCode } from '@interlock/contracts';
import { NO_EFFECTS, type ProbeResult, type ToolResult } from '../tools/tool.ts';

export type FactData = EventInput<'tool.execution.completed'>;
type Code = NonNullable<ToolExecutionCompletedV1['code']>;

/** Who tells. */
export interface Teller {
  readonly pool: string;
  readonly worker: string;
  readonly sandboxLevel: SandboxLevel;
}

/** Under which claim. */
export interface ClaimRef {
  readonly seq: number;
  readonly epoch: number;
}

const EXECUTION_CODES: ReadonlySet<string> = new Set(codesOf('execution'));

/** A code of another family is told in the message. */
function executionCode(code: ErrorCode): Code {
  return EXECUTION_CODES.has(code) ? (code as Code) : 'exception';
}

function blank({ pool, worker }: Teller, tool: string): Omit<FactData, 'outcome' | 'claimSeq' | 'epoch'> {
  return {
    pool,
    tool,
    worker,
    sandboxLevel: null,
    exitCode: null,
    signal: null,
    durationMs: 0,
    output: [],
    artifacts: [],
    effects: { ...NO_EFFECTS, files: [], excluded: [] },
    network: [],
    reads: [],
  };
}

/** Nothing ran. */
export function refusedFact(teller: Teller, tool: string, code: ErrorCode, message: string): FactData {
  return {
    ...blank(teller, tool),
    outcome: 'refused',
    code: executionCode(code),
    message,
    claimSeq: null,
    epoch: 0,
  };
}

/** What a call that ran did. */
export function completedFact(
  teller: Teller,
  { tool }: Pick<Invocation, 'tool'>,
  claim: ClaimRef,
  run: {
    readonly result: ToolResult;
    readonly durationMs: number;
    readonly artifacts: readonly ArtifactRef[];
  },
): FactData {
  const { result, durationMs, artifacts } = run;
  const { outcome, code, message, exitCode = null, signal = null, output, effects, reads = [] } = result;
  return {
    ...blank(teller, tool),
    outcome,
    ...(code === undefined ? {} : { code: executionCode(code) }),
    ...(message === undefined ? {} : { message }),
    claimSeq: claim.seq,
    epoch: claim.epoch,
    sandboxLevel: teller.sandboxLevel,
    exitCode,
    signal,
    durationMs,
    output: [...output],
    artifacts: [...artifacts],
    effects: { ...effects },
    reads: [...reads],
  };
}

/** The holder of a claim is gone: what a look at the world could prove, or that nothing is known. */
export function abandonedFact(
  teller: Teller,
  tool: string,
  claim: ClaimRef,
  found: { readonly probe: ProbeResult | null; readonly artifacts: readonly ArtifactRef[] },
): FactData {
  const base = {
    ...blank(teller, tool),
    claimSeq: claim.seq,
    epoch: claim.epoch,
    artifacts: [...found.artifacts],
  };
  const { probe } = found;
  if (probe?.verdict === 'done') {
    const { detail, effects = NO_EFFECTS, reads = [] } = probe;
    return { ...base, outcome: 'success', probe: detail, effects: { ...effects }, reads: [...reads] };
  }
  return {
    ...base,
    outcome: 'indeterminate',
    code: 'outcome_unknown',
    message: 'the executor that had claimed the call was lost before it told what happened',
    ...(probe ? { probe: probe.detail } : {}),
  };
}
