/** Appends of decisions to an intent's lane. Each answers true when it is stored, false when the lane went on. */
import {
  type EventInput,
  type LaneAddress,
  type PolicyMatch,
  type SessionOpenedV1,
  type ToolApprovalAllowedV1,
  type ToolDefinition,
  tailOf,
} from '@interlock/contracts';
import { append, type EventDraft, type FoldCache, setTimer, type Writer } from '@interlock/kit';
import type { Call } from './call.ts';
import type { AskTerms } from './decide.ts';
import type { Evaluation, Judge } from './evaluate.ts';
import { patternOf } from './grants.ts';
import { invocationOf } from './invocation.ts';
import { promptOf, riskOf } from './prompt.ts';
import type { RegistryReader } from './registries.ts';
import type { Lane, PolicyState } from './state.ts';

export interface PolicyHouse extends Judge {
  readonly writer: Writer;
  readonly sessions: FoldCache<PolicyState>;
  readonly registries: RegistryReader;
}

export interface Place {
  readonly tenant: string;
  readonly session: string;
  readonly intent: string;
}

/** The lane as it was folded, and what makes us append to it. */
export interface Occasion {
  readonly place: Place;
  readonly state: PolicyState;
  readonly lane: Lane;
  /** Id of the event that is handled. */
  readonly causationid: string;
  readonly traceparent: string;
}

export interface Decided {
  readonly call: Call;
  readonly definition: ToolDefinition;
  readonly opened: SessionOpenedV1;
  readonly evaluation: Evaluation;
}

export function laneAddress({ tenant, session, intent }: Place): LaneAddress {
  return { tenant, session, lane: 'i', intent };
}

/** What every event of the lane has in common. */
export function attributesOf({
  lane,
  causationid,
  traceparent,
}: Occasion): Omit<EventDraft, 'type' | 'data'> {
  const { run, turn } = lane.intent.envelope;
  return { run, turn, causationid, traceparent };
}

export async function recordAllowed(
  house: PolicyHouse,
  occasion: Occasion,
  decided: Decided,
  by: ToolApprovalAllowedV1['by'],
): Promise<boolean> {
  const { call, definition, opened, evaluation } = decided;
  const { verdicts, grounds } = evaluation;
  const { intent } = occasion.place;
  const ttlMs = house.config.invocationTtlMs;
  const invocation = invocationOf({ intent, call, definition, opened, now: house.clock.now(), ttlMs });
  const data = { invocation, by, verdicts, grounds };
  const lane = { ...laneAddress(occasion.place), pool: invocation.pool };
  const tail = tailOf(occasion.state.conversation, intent);
  const draft = { ...attributesOf(occasion), type: 'tool.approval.allowed', data } as const;
  const appended = await append(house.bus, house.writer, lane, tail, draft);
  if (appended.ok) house.sessions.offer(appended.entry);
  return appended.ok;
}

export interface Ask {
  readonly terms: AskTerms;
  readonly winner: PolicyMatch | null;
  readonly voided?: { readonly answerId: string; readonly why: string };
}

/** Appends the ask, then sets its timer: a crash between the two is mended by whoever handles the event again. */
export async function recordAsked(
  house: PolicyHouse,
  occasion: Occasion,
  { call, evaluation }: Decided,
  { terms, winner, voided }: Ask,
): Promise<boolean> {
  const { verdicts, grounds, bindingSha256 } = evaluation;
  const openMs = terms.expiresMs ?? house.config.approvalExpiryMs;
  const grantable = terms.grants && patternOf(call) !== null;
  const data: EventInput<'tool.approval.asked'> = {
    prompt: promptOf(call, occasion.lane.intent.data, winner),
    risk: riskOf(call),
    verdicts,
    grounds,
    bindingSha256,
    approvers: [...terms.approvers],
    scopes: grantable ? ['once', 'session', 'project'] : ['once'],
    expiresAt: new Date(house.clock.now().getTime() + openMs).toISOString(),
    ...(voided ? { voided } : {}),
  };
  const tail = tailOf(occasion.state.conversation, occasion.place.intent);
  const draft = { ...attributesOf(occasion), type: 'tool.approval.asked', data } as const;
  const appended = await append(house.bus, house.writer, laneAddress(occasion.place), tail, draft);
  if (!appended.ok) return false;
  house.sessions.offer(appended.entry);
  await remind(house, occasion.place, appended.entry.envelope.id, data.expiresAt);
  return true;
}

/** Sets the timer of an open ask. Setting it twice is harmless. */
export async function remind(
  { bus }: Pick<PolicyHouse, 'bus'>,
  { tenant, session }: Pick<Place, 'tenant' | 'session'>,
  askedId: string,
  expiresAt: string,
): Promise<void> {
  await setTimer(bus, { kind: 'approval', tenant, session, id: askedId }, new Date(expiresAt));
}

export async function recordDenied(
  house: PolicyHouse,
  occasion: Occasion,
  data: EventInput<'tool.approval.denied'>,
): Promise<boolean> {
  const tail = tailOf(occasion.state.conversation, occasion.place.intent);
  const draft = { ...attributesOf(occasion), type: 'tool.approval.denied', data } as const;
  const appended = await append(house.bus, house.writer, laneAddress(occasion.place), tail, draft);
  if (appended.ok) house.sessions.offer(appended.entry);
  return appended.ok;
}
