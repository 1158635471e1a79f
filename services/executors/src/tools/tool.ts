/**
 * A tool as an executor runs it.
 *
 * T1. `preflight` changes nothing: it normalises the input, looks at the real files and says what the call would do.
 * T2. `execute` rests on the invocation alone and checks again what `preflight` saw; what it finds changed it refuses.
 * T3. `execute` does not throw for what a user can cause; what it throws is told as `failed` with code `exception`.
 */
import type {
  ArtifactRef,
  Assessment,
  Baseline,
  CallBudgets,
  ErrorCode,
  FileRead,
  Mode,
  OutputPart,
  ResumePolicy,
  SandboxLevel,
  ToolDefinition,
  ToolExecutionCompletedV1,
  ValidationError,
} from '@interlock/contracts';
import { z } from 'zod';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Workspace } from '../workspace/paths.ts';
import type { SeenContent } from '../workspace/seen-content.ts';

/** Limits that the house sets for all tools of a pool. */
export interface ToolLimits {
  /** Bytes of text that one call may take out and put in. */
  readonly maxChangeBytes: number;
  /** Bytes of a file that may be edited or replaced. */
  readonly maxFileBytes: number;
  /** Bytes of an output that are kept as an artifact; the rest is counted. */
  readonly maxArtifactBytes: number;
  /** Longest time a call may ask for. */
  readonly maxTimeoutMs: number;
}

/** What a call may look at, before and while it runs. */
export interface ToolSurroundings {
  readonly workspace: Workspace;
  readonly limits: ToolLimits;
  /** Bytes of an artifact of the tenant; null when there is none. Throws when it cannot be said now. */
  readonly readArtifact: (uri: string) => Promise<Uint8Array | null>;
  readonly seen: SeenContent;
}

export interface PreflightContext extends ToolSurroundings {
  readonly mode: Mode;
  /** Files shown in the session so far, by real path. */
  readonly reads: readonly Baseline[];
  readonly sandboxLevel: SandboxLevel;
}

export interface Accepted<Input> {
  readonly ok: true;
  /** Normalised: what would run. */
  readonly input: Input;
  readonly changes: readonly { readonly path: string; readonly why: string }[];
  readonly assessment: Assessment;
  /** Files the call rests on, as they are now; checked again before the claim. */
  readonly baselines: readonly Baseline[];
}
export interface Rejected {
  readonly ok: false;
  readonly errors: readonly ValidationError[];
}
export type Preflight<Input> = Accepted<Input> | Rejected;

/** Why a call that runs is stopped. */
export type StopReason = 'timeout' | 'cancelled' | 'lease_lost' | 'stopping';

export interface ExecutionContext extends ToolSurroundings {
  readonly intent: string;
  readonly budgets: CallBudgets;
  readonly baselines: readonly Baseline[];
  readonly sandbox: Sandbox;
  readonly mayWrite: boolean;
  /** Aborted with a `StopReason`. A tool whose work can be stopped stops and tells what it did. */
  readonly signal: AbortSignal;
  /** Attaches bytes to the fact. They are stored before the fact is, and wait with it while the log is away. */
  readonly attach: (bytes: Uint8Array, options: { mediaType: string; name?: string }) => ArtifactRef;
  /** Output as it comes; may be lost. */
  readonly live: (channel: 'stdout' | 'stderr', bytes: Uint8Array) => void;
}

export type Effects = ToolExecutionCompletedV1['effects'];
export const NO_EFFECTS: Effects = { files: [], scope: 'none', excluded: [] };

/** What the tool did. Told as a fact; see `ToolExecutionCompletedV1` for the fields. */
export interface ToolResult {
  readonly outcome: 'success' | 'failed';
  readonly code?: ErrorCode;
  readonly message?: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly output: readonly OutputPart[];
  readonly effects: Effects;
  readonly reads?: readonly FileRead[];
}

/** A call that came to nothing. */
export function failure(message: string, code: ErrorCode = 'exception'): ToolResult {
  return { outcome: 'failed', code, message, output: [], effects: NO_EFFECTS };
}

/** What a look at the world found after a worker was lost. */
export interface ProbeResult {
  /** `done`: the effect is there, beyond doubt. `unknown`: anything else. */
  readonly verdict: 'done' | 'unknown';
  readonly detail: string;
  readonly effects?: Effects;
  readonly reads?: readonly FileRead[];
}

/** What a look at the world is given. */
export type ProbeContext = Pick<ExecutionContext, 'workspace' | 'intent' | 'baselines' | 'limits' | 'attach'>;

export interface ToolSpec<Input> {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Becomes the JSON Schema that the model sees. Unknown keys are refused where it is a `strictObject`. */
  readonly input: z.ZodType<Input>;
  readonly readOnly: boolean;
  readonly visibleIn: ToolDefinition['visibleIn'];
  readonly needsBaseline: boolean;
  readonly budgets: CallBudgets;
  readonly resumePolicy: ResumePolicy;
  readonly preflight: (input: Input, context: PreflightContext) => Promise<Preflight<Input>>;
  readonly execute: (input: Input, context: ExecutionContext) => Promise<ToolResult>;
  /** For `resumePolicy: 'probe'`. Changes nothing but leftovers of the call itself. */
  readonly probe?: (input: Input, context: ProbeContext) => Promise<ProbeResult>;
  /** Time that this input asks for, in milliseconds. Default: what the budgets allow. */
  readonly timeoutMs?: (input: Input) => number | undefined;
  /** Runs other programs, so it needs the sandbox that the decision names. */
  readonly runsPrograms?: boolean;
}

/** A tool whose input has been closed over: it takes `unknown` and checks it. */
export interface Tool
  extends Omit<ToolSpec<unknown>, 'preflight' | 'execute' | 'probe' | 'timeoutMs' | 'input'> {
  readonly inputSchema: ToolDefinition['inputSchema'];
  readonly preflight: (input: unknown, context: PreflightContext) => Promise<Preflight<unknown>>;
  /** @throws TypeError for an input that does not fit, which a signed permit never holds */
  readonly execute: (input: unknown, context: ExecutionContext) => Promise<ToolResult>;
  readonly probe?: (input: unknown, context: ProbeContext) => Promise<ProbeResult>;
  readonly timeoutMs: (input: unknown) => number | undefined;
}

/** Makes a tool of its parts. */
export function defineTool<Input>(spec: ToolSpec<Input>): Tool {
  const { input: schema, preflight, execute, probe, timeoutMs, ...rest } = spec;
  const checked = (input: unknown): Input => {
    const parsed = schema.safeParse(input);
    if (!parsed.success) throw new TypeError(`${spec.name}: ${parsed.error.message}`);
    return parsed.data;
  };
  const { $schema: _draft, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
  return {
    ...rest,
    inputSchema,
    preflight: async (input, context) => {
      const parsed = schema.safeParse(input);
      return parsed.success
        ? preflight(parsed.data, context)
        : { ok: false, errors: schemaErrors(parsed.error) };
    },
    execute: async (input, context) => execute(checked(input), context),
    ...(probe
      ? { probe: async (input: unknown, context: ProbeContext) => probe(checked(input), context) }
      : {}),
    timeoutMs: (input) => timeoutMs?.(checked(input)),
  };
}

/** The definition by which a pool registers a tool. */
export function definitionOf(tool: Tool, pool: string): ToolDefinition {
  const { name, version, description, inputSchema, readOnly, needsBaseline, budgets, resumePolicy } = tool;
  const visibleIn = [...tool.visibleIn];
  return {
    ...{ name, version, description, pool, inputSchema, readOnly, visibleIn },
    ...{ needsBaseline, budgets, resumePolicy },
  };
}

function schemaErrors(error: z.ZodError): ValidationError[] {
  return error.issues.map((issue) => ({
    path: issue.path.length === 0 ? '' : `/${issue.path.map(String).join('/')}`,
    code: 'schema_mismatch',
    message: issue.message,
    advice: 'Correct the named field and call again.',
  }));
}
