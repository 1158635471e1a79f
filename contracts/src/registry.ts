/**
 * The contracts table: every type, its lane, who may append it, whether it is signed, and the schema of each version.
 * Subjects, permissions, JSON Schemas and AsyncAPI are generated from it.
 */
import type { z } from 'zod';
import { toolApprovalAllowedV1, toolApprovalAskedV1, toolApprovalDeniedV1 } from './approval/v1.ts';
import { contextCompactedV1 } from './context/v1.ts';
import {
  executionLateV1,
  jobEndedV1,
  toolExecutionCompletedV1,
  toolExecutionStartedV1,
} from './execution/v1.ts';
import { toolCancelledV1, toolIntentV1, toolValidatedV1, toolValidationFailedV1 } from './intent/v1.ts';
import {
  modelAttemptStartedV1,
  modelFailedV1,
  modelMessageV1,
  modelRequestedV1,
  modelRetryingV1,
} from './model/v1.ts';
import { toolObservationV1 } from './observation/v1.ts';
import { runFinishedV1, runStartedV1 } from './run/v1.ts';
import { sessionClosedV1, sessionOpenedV1 } from './session/v1.ts';
import type { LaneKind } from './subjects.ts';
import {
  checkpointV1,
  eventQuarantinedV1,
  grantGivenV1,
  grantRevokedV1,
  policyActivatedV1,
  toolRegisteredV1,
} from './system/v1.ts';
import { runCancelV1, toolAnswerV1, undoRequestedV1, userMessageV1 } from './user/v1.ts';
import type { PastVersion } from './versions.ts';

/** Who speaks: the services, and people's clients. */
export const ROLES = [
  'client',
  'provider-gateway',
  'validator',
  'policy-engine',
  'executor',
  'observer',
  'event-store',
] as const;
export type Role = (typeof ROLES)[number];

export interface EventContract<Schema extends z.ZodType = z.ZodType> {
  readonly lane: LaneKind;
  readonly appendedBy: readonly Role[];
  /** Ed25519 required: the fold skips it when the signature is missing or wrong. */
  readonly signed: boolean;
  /** Newest version; older ones are upcast on reading. */
  readonly version: number;
  readonly schema: Schema;
  /** Versions before the newest, from 1; absent while there are none. */
  readonly past?: readonly PastVersion[];
}

function contract<Schema extends z.ZodType>(
  lane: LaneKind,
  appendedBy: readonly Role[],
  schema: Schema,
  signed: 'signed' | 'unsigned' = 'unsigned',
): EventContract<Schema> {
  return { lane, appendedBy, signed: signed === 'signed', version: 1, schema };
}

export const EVENTS = {
  'session.opened': contract('u', ['client'], sessionOpenedV1),
  'session.closed': contract('u', ['client'], sessionClosedV1),
  'user.message': contract('u', ['client'], userMessageV1),
  'run.cancel': contract('u', ['client', 'observer'], runCancelV1),
  'tool.answer': contract('u', ['client'], toolAnswerV1, 'signed'),
  'undo.requested': contract('u', ['client'], undoRequestedV1, 'signed'),

  'run.started': contract('s', ['observer'], runStartedV1),
  'run.finished': contract('s', ['observer'], runFinishedV1),
  'model.requested': contract('s', ['observer'], modelRequestedV1),
  'model.attempt.started': contract('s', ['provider-gateway'], modelAttemptStartedV1),
  'model.retrying': contract('s', ['provider-gateway'], modelRetryingV1),
  'model.failed': contract('s', ['provider-gateway'], modelFailedV1),
  'model.message': contract('s', ['provider-gateway'], modelMessageV1),
  'context.compacted': contract('s', ['observer'], contextCompactedV1),

  'tool.intent': contract('i', ['provider-gateway', 'policy-engine'], toolIntentV1),
  'tool.validated': contract('i', ['validator'], toolValidatedV1),
  'tool.validation_failed': contract('i', ['validator'], toolValidationFailedV1),
  'tool.approval.asked': contract('i', ['policy-engine'], toolApprovalAskedV1, 'signed'),
  'tool.approval.denied': contract('i', ['policy-engine'], toolApprovalDeniedV1, 'signed'),
  'tool.approval.allowed': contract('i', ['policy-engine'], toolApprovalAllowedV1, 'signed'),
  'tool.cancelled': contract('i', ['observer'], toolCancelledV1),
  'tool.execution.started': contract('i', ['executor'], toolExecutionStartedV1, 'signed'),
  'tool.execution.completed': contract('i', ['executor', 'observer'], toolExecutionCompletedV1, 'signed'),
  'tool.observation': contract('i', ['observer'], toolObservationV1),

  'execution.late': contract('x', ['executor'], executionLateV1, 'signed'),
  'job.ended': contract('x', ['executor'], jobEndedV1, 'signed'),

  'tool.registered': contract('sys', ['event-store'], toolRegisteredV1),
  'policy.activated': contract('sys', ['policy-engine'], policyActivatedV1),
  'grant.given': contract('sys', ['policy-engine'], grantGivenV1),
  'grant.revoked': contract('sys', ['policy-engine'], grantRevokedV1),
  'event.quarantined': contract('sys', ['event-store'], eventQuarantinedV1),
  checkpoint: contract('sys', ['event-store'], checkpointV1),
} as const;

export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

/** The data of a type, as read. */
export type EventData<Type extends EventType> = z.output<(typeof EVENTS)[Type]['schema']>;
/** The data of a type, as written: fields with defaults may be left out. */
export type EventInput<Type extends EventType> = z.input<(typeof EVENTS)[Type]['schema']>;

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENTS, type);
}

export function contractOf(type: EventType): EventContract {
  return EVENTS[type];
}
