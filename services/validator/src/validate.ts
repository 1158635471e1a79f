/**
 * Validates one ready call: registry, schema, fold, pool, and the append of what came out. On a conflict it folds
 * again and decides anew; it stops only when the fold shows that the call went on without it.
 */
import { type EventType, parseEventSubject, type ValidationError } from '@interlock/contracts';
import {
  type Appended,
  append,
  type Bus,
  type Clock,
  type Conflict,
  type EventDraft,
  type FoldCache,
  type Logger,
  type Writer,
} from '@interlock/kit';
import type { ValidatorConfig } from './config.ts';
import {
  type Conclusion,
  conclude,
  decide,
  poolUnavailable,
  type ReadyCall,
  readyCalls,
  type Step,
} from './decide.ts';
import type { Definitions } from './definitions.ts';
import { askPool } from './preflight.ts';
import type { CheckInput } from './schema.ts';
import { notShown, visibleTool } from './semantic.ts';
import type { ValidatorState } from './state.ts';

export interface Validation {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly sessions: FoldCache<ValidatorState>;
  readonly definitions: Definitions;
  readonly checkInput: CheckInput;
  readonly config: ValidatorConfig;
}

/** What made the call ready. */
export interface Cause {
  readonly tenant: string;
  readonly session: string;
  readonly seq: number;
  readonly timestamp: Date;
  /** From then on a pool that does not answer is unavailable. */
  readonly deadline: Date;
  readonly traceparent: string;
  readonly logger: Logger;
}

/** `later`: the pool is silent, and the deadline has not come. */
export type Progress = 'done' | 'later';

/** Takes a ready call to `tool.validated` or `tool.validation_failed`. */
export async function validate(
  house: Validation,
  cause: Cause,
  ready: ReadyCall,
  state: ValidatorState,
): Promise<Progress> {
  const { tenant, session } = cause;
  let at = { ready, state };
  for (;;) {
    const conclusion = await judge(house, cause, at.ready, at.state);
    if (conclusion === 'later') return 'later';
    const appended = await record(house, cause, at.ready, conclusion);
    if (appended.ok) {
      house.sessions.offer(appended.entry);
      return 'done';
    }
    const now = await house.sessions.latest(tenant, session);
    const still = readyCalls(now).find(({ call }) => call.intent === ready.call.intent);
    if (!still) return 'done';
    at = { ready: still, state: now };
  }
}

type Final = Exclude<Conclusion, { kind: 'unusable' }>;

async function judge(
  house: Validation,
  cause: Cause,
  { call, proposal }: ReadyCall,
  state: ValidatorState,
): Promise<Final | 'later'> {
  const { conversation } = state;
  const tool = visibleTool(conversation, proposal.data.tool);
  const definition = tool && (await house.definitions.ofDigest(cause, tool.digest));
  if (!tool || !definition) {
    const registered = tool !== null || (await house.definitions.hasTool(cause, proposal.data.tool));
    return fail([notShown(conversation, proposal.data.tool, registered)]);
  }
  const { intent } = call;
  const question = {
    state: conversation,
    intent,
    proposal: proposal.data,
    tool,
    definition,
    now: cause.timestamp,
  };
  const step = decide(question, house.checkInput);
  return step.kind === 'fail' ? fail(step.errors) : consult(house, cause, step);
}

async function consult(
  { bus, clock, config }: Validation,
  { tenant, deadline, logger }: Cause,
  step: Extract<Step, { kind: 'preflight' }>,
): Promise<Final | 'later'> {
  const { pool, request } = step;
  const answer = await askPool(bus, tenant, pool, { request, timeoutMs: config.preflightTimeoutMs });
  const conclusion = answer.kind === 'answered' ? conclude(step, answer.reply) : null;
  if (conclusion && conclusion.kind !== 'unusable') return conclusion;
  const why = conclusion?.why ?? (answer.kind === 'silence' ? answer.why : '');
  if (clock.now() < deadline) return 'later';
  logger.warn({ code: 'pool_unavailable', pool, why }, 'the pool did not answer before the deadline');
  return fail([poolUnavailable(pool, why)]);
}

function fail(errors: readonly ValidationError[]): Final {
  return { kind: 'fail', errors };
}

async function record(
  { bus, writer }: Validation,
  { tenant, session, traceparent }: Cause,
  { call, proposal }: ReadyCall,
  conclusion: Final,
): Promise<Appended | Conflict> {
  const { run, turn, id } = proposal.envelope;
  const common = { run, turn, causationid: id, traceparent };
  const lane = { tenant, session, lane: 'i', intent: call.intent } as const;
  const put = <Type extends EventType>(draft: EventDraft<Type>) =>
    append(bus, writer, lane, call.tail, draft);
  return conclusion.kind === 'fail'
    ? put({ ...common, type: 'tool.validation_failed', data: { errors: [...conclusion.errors] } })
    : put({ ...common, type: 'tool.validated', data: conclusion.data });
}

/** Tenant, session and intent of a delivery; null for a subject that is not of an intent's lane. */
export function intentOf(subject: string): { tenant: string; session: string; intent: string } | null {
  const address = parseEventSubject(subject);
  if (address?.lane !== 'i' || address.intent === undefined) return null;
  return { tenant: address.tenant, session: address.session, intent: address.intent };
}
