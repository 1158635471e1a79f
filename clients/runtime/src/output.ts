/** What a front end is told, derived from the log. Pure. */
import type {
  ConversationState,
  LogEntry,
  ObservationPart,
  SessionStatus,
  Stage,
  StoredEvent,
  ToolApprovalAskedV1,
} from '@interlock/contracts';

/** How an intent moved on. `detail` is one line for people: the rule, the exit code, the reason. */
export interface IntentOutput {
  readonly type: 'tool.intent';
  readonly intent: string;
  readonly tool: string;
  readonly stage: Exclude<Stage, 'declared' | 'observed'>;
  readonly detail: string;
  /** `proposed` only. */
  readonly input?: unknown;
}

export type RuntimeOutput =
  | {
      readonly type: 'text.delta';
      readonly text: string;
      readonly attempt: number;
      readonly kind: 'text' | 'reasoning';
    }
  | IntentOutput
  | {
      readonly type: 'approval.asked';
      readonly intent: string;
      readonly tool: string;
      readonly askedId: string;
      readonly bindingSha256: string;
      readonly prompt: ToolApprovalAskedV1['prompt'];
      readonly scopes: readonly string[];
      readonly expiresAt: string;
    }
  | {
      readonly type: 'tool.observation';
      readonly intent: string;
      readonly tool: string;
      readonly ending: string;
      readonly isError: boolean;
      readonly parts: readonly ObservationPart[];
    }
  | { readonly type: 'status'; readonly status: SessionStatus; readonly text?: string }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

/** Outputs of one event. An event that did not count (a stray) gives none. */
export function toOutputs(
  before: ConversationState,
  after: ConversationState,
  entry: LogEntry,
): readonly RuntimeOutput[] {
  if (entry.type === 'unreadable' || after.skipped > before.skipped) return [];
  const outputs = ofEvent(after, entry);
  return after.status === before.status ? outputs : [...outputs, { type: 'status', status: after.status }];
}

function ofEvent(state: ConversationState, event: StoredEvent): readonly RuntimeOutput[] {
  switch (event.type) {
    case 'model.failed':
    case 'model.retrying':
      return [{ type: 'error', code: event.data.category, message: event.data.message }];
    case 'tool.approval.asked':
      return [
        stage(state, event, 'asked', event.data.prompt.detail),
        {
          type: 'approval.asked',
          intent: event.envelope.intent ?? '',
          tool: toolOf(state, event),
          askedId: event.envelope.id,
          bindingSha256: event.data.bindingSha256,
          prompt: event.data.prompt,
          scopes: event.data.scopes,
          expiresAt: event.data.expiresAt,
        },
      ];
    case 'tool.observation':
      return [
        {
          type: 'tool.observation',
          intent: event.envelope.intent ?? '',
          tool: event.data.tool,
          ending: event.data.ending,
          isError: event.data.isError,
          parts: event.data.parts,
        },
      ];
    default:
      return ofStep(state, event);
  }
}

function ofStep(state: ConversationState, event: StoredEvent): readonly RuntimeOutput[] {
  switch (event.type) {
    case 'tool.intent':
      return [{ ...stage(state, event, 'proposed', event.data.reason ?? ''), input: event.data.rawInput }];
    case 'tool.validated':
      return [stage(state, event, 'validated', event.data.assessment.summary)];
    case 'tool.validation_failed':
      return [stage(state, event, 'invalid', event.data.errors[0]?.message ?? '')];
    case 'tool.approval.allowed': {
      const { by } = event.data;
      return [
        stage(
          state,
          event,
          'allowed',
          by.kind === 'rule' ? `${by.layer}/${by.rule}` : `${by.kind} of ${by.person}`,
        ),
      ];
    }
    case 'tool.approval.denied':
      return [
        stage(
          state,
          event,
          'denied',
          event.data.rule ? `${event.data.rule}: ${event.data.reason}` : event.data.reason,
        ),
      ];
    case 'tool.cancelled':
      return [stage(state, event, 'cancelled', event.data.detail ?? event.data.reason)];
    case 'tool.execution.started':
      return [stage(state, event, 'started', `sandbox ${event.data.sandboxLevel}`)];
    case 'tool.execution.completed': {
      const { outcome, exitCode, durationMs, code } = event.data;
      const exit = exitCode === null ? '' : `, exit ${exitCode}`;
      return [
        stage(
          state,
          event,
          'completed',
          `${outcome}${code ? ` (${code})` : ''}${exit}, ${Math.round(durationMs)} ms`,
        ),
      ];
    }
    default:
      return [];
  }
}

function stage(
  state: ConversationState,
  event: StoredEvent,
  at: IntentOutput['stage'],
  detail: string,
): IntentOutput {
  return {
    type: 'tool.intent',
    intent: event.envelope.intent ?? '',
    tool: toolOf(state, event),
    stage: at,
    detail,
  };
}

function toolOf(state: ConversationState, event: StoredEvent): string {
  return state.calls[event.envelope.intent ?? '']?.tool ?? '';
}
