/**
 * Structural validation, then what the fold can say: in this order, and nothing undefined goes on to the pool.
 *
 * D1. Only a call that the turn's schedule lets go on is judged; every other waits for the observation that frees it.
 * D2. The definition is the one whose digest the model was shown, never a newer one of the same name.
 * D3. What comes out is either errors, or a question to the pool. Never a permit.
 */
import {
  type CallState,
  type ConversationState,
  callOf,
  ERRORS,
  type PreflightReplyV1,
  type PreflightRequestV1,
  runnable,
  type StoredEventOf,
  type ToolDefinition,
  type ToolIntentV1,
  type ToolValidatedV1,
  type ValidationError,
  type VisibleTool,
} from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';
import type { CheckInput } from './schema.ts';
import { semanticErrors } from './semantic.ts';
import type { ValidatorState } from './state.ts';

/** In replay no executor may be reached: this pool answers with what is on record. */
const REPLAY_POOL = 'recorded';

/** Calls that may be validated now, each with its proposal. */
export function readyCalls(state: ValidatorState): readonly ReadyCall[] {
  return runnable(state.conversation).flatMap((call) => {
    // Only a call that is there has a proposal, so its own key is meant.
    const proposal = call.stage === 'proposed' ? state.proposals[call.intent] : undefined;
    return proposal ? [{ call, proposal }] : [];
  });
}

export interface ReadyCall {
  readonly call: CallState;
  readonly proposal: StoredEventOf<'tool.intent'>;
}

/**
 * True when the observation of a call can free nothing, as far as a state from before it can prove: every other call of
 * its turn is past validation already. Calls only go forward, so an old state proves it as well as a new one.
 */
export function freesNothing(state: ConversationState, observed: string): boolean {
  const call = callOf(state, observed);
  if (!call || call.turn === null || !state.run || state.run.id !== call.run) return false;
  return Object.values(state.calls).every(
    (other) =>
      other.intent === observed ||
      other.run !== call.run ||
      other.turn !== call.turn ||
      (other.stage !== 'declared' && other.stage !== 'proposed'),
  );
}

export type Step =
  | { readonly kind: 'fail'; readonly errors: readonly ValidationError[] }
  | { readonly kind: 'preflight'; readonly pool: string; readonly request: PreflightRequestV1 };

export interface Question {
  readonly state: ConversationState;
  readonly intent: string;
  readonly proposal: ToolIntentV1;
  /** The tool as it was shown, and its definition. */
  readonly tool: VisibleTool;
  readonly definition: ToolDefinition;
  /** When the call became ready: the time of the event that is handled. */
  readonly now: Date;
}

/** Judges a ready call of a visible tool. */
export function decide(question: Question, checkInput: CheckInput): Step {
  const { state, intent, proposal, tool, definition, now } = question;
  if (proposal.inputFormat === 'text') return { kind: 'fail', errors: [malformed(proposal.rawInput)] };
  const misfits = checkInput(tool.digest, definition, proposal.rawInput);
  if (misfits.length > 0) return { kind: 'fail', errors: misfits };
  const errors = semanticErrors(state, definition, now);
  if (errors.length > 0) return { kind: 'fail', errors };
  const mode = state.opened?.mode ?? 'normal';
  return {
    kind: 'preflight',
    pool: mode === 'replay' ? REPLAY_POOL : tool.pool,
    request: {
      session: state.session,
      intent,
      tool: definition.name,
      toolDigest: tool.digest,
      input: proposal.rawInput,
      workspace: state.opened?.workspace ?? '',
      mode,
      reads: Object.entries(state.baselines).map(([path, { sha256 }]) => ({ path, sha256 })),
    },
  };
}

function malformed(rawInput: unknown): ValidationError {
  const text = typeof rawInput === 'string' ? rawInput : JSON.stringify(rawInput);
  return {
    path: '',
    code: 'malformed_arguments',
    message: `The arguments are not JSON: ${whyNotJson(text)}.`,
    advice: ERRORS.malformed_arguments.advice,
  };
}

function whyNotJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).slice(0, 200);
  }
  return 'they came as text';
}

type Accepted = NonNullable<Extract<PreflightReplyV1, { ok: true }>['accepted']>;

export type Conclusion =
  | { readonly kind: 'fail'; readonly errors: readonly ValidationError[] }
  | { readonly kind: 'validated'; readonly data: ToolValidatedV1 }
  | { readonly kind: 'unusable'; readonly why: string };

/** What the pool's answer makes of the call. `unusable`: the pool did not answer the question. */
export function conclude(step: Extract<Step, { kind: 'preflight' }>, reply: PreflightReplyV1): Conclusion {
  if (!reply.ok) return { kind: 'unusable', why: `${reply.code}: ${reply.message}` };
  if (reply.errors.length > 0) return { kind: 'fail', errors: reply.errors };
  if (!reply.accepted) return { kind: 'unusable', why: 'it neither accepted nor refused the call' };
  return { kind: 'validated', data: toValidated(step, reply.accepted) };
}

function toValidated(
  { pool, request }: Extract<Step, { kind: 'preflight' }>,
  accepted: Accepted,
): ToolValidatedV1 {
  return {
    tool: request.tool,
    pool,
    toolDigest: request.toolDigest,
    input: accepted.input,
    inputSha256: hashOf(accepted.input),
    changes: accepted.changes,
    assessment: accepted.assessment,
    baselines: accepted.baselines,
    sandboxLevel: accepted.sandboxLevel,
  };
}

/** Nobody of the pool answered before the deadline. */
export function poolUnavailable(pool: string, why: string): ValidationError {
  return {
    path: '',
    code: 'pool_unavailable',
    message: `No executor of the pool "${pool}" answered in time (${why}).`,
    advice: ERRORS.pool_unavailable.advice,
  };
}
