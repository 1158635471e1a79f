/** Longer ways through a log, for tests that start in the middle of a turn. */
import {
  callOf,
  type EventType,
  type ModelPart,
  type Stage,
  type Stop,
  type VisibleTool,
} from '../src/index.ts';
import type { LogBuilder } from './log-builder.ts';
import { READ_FILE, sample, WRITE_FILE } from './samples.ts';

/** Opens the session, says something and starts a run. Returns the run's id. */
export function startRun(log: LogBuilder): string {
  if (!log.state().opened) log.append('session.opened', sample('session.opened'));
  log.append('user.message', sample('user.message'));
  const number = (log.state().lastRun?.number ?? 0) + 1;
  return log.append('run.started', { number }).envelope.run ?? '';
}

/** Asks the model and lets it answer: request, attempt, message. */
export function modelTurn(
  log: LogBuilder,
  parts: ModelPart[],
  stop: Stop = parts.some((part) => part.type === 'tool_call') ? 'tool_calls' : 'end_turn',
  tools: readonly VisibleTool[] = [READ_FILE, WRITE_FILE],
): void {
  log.append('model.requested', sample('model.requested', { throughSeq: log.seq, tools: [...tools] }));
  log.append('model.attempt.started', sample('model.attempt.started'));
  log.append('model.message', sample('model.message', { parts, stop }));
}

const TO_VALIDATED = ['tool.intent', 'tool.validated'] as const;
const TO_COMPLETED = [
  ...TO_VALIDATED,
  'tool.approval.allowed',
  'tool.execution.started',
  'tool.execution.completed',
] as const;

const PATHS: Readonly<Record<Stage, readonly EventType[]>> = {
  declared: [],
  proposed: ['tool.intent'],
  validated: TO_VALIDATED,
  invalid: ['tool.intent', 'tool.validation_failed'],
  asked: [...TO_VALIDATED, 'tool.approval.asked'],
  allowed: [...TO_VALIDATED, 'tool.approval.allowed'],
  denied: [...TO_VALIDATED, 'tool.approval.denied'],
  cancelled: ['tool.cancelled'],
  started: TO_COMPLETED.slice(0, -1),
  completed: TO_COMPLETED,
  observed: [...TO_COMPLETED, 'tool.observation'],
};

/** Takes a declared call along the shortest way to a stage, from where it stands on that way. */
export function takeCall(log: LogBuilder, intent: string, stage: Stage): void {
  const call = callOf(log.state(), intent);
  const done = PATHS[call?.stage ?? 'declared'];
  const way = PATHS[stage];
  const rest = done.every((type, index) => type === way[index]) ? way.slice(done.length) : way.slice(-1);
  for (const type of rest) appendStep(log, intent, type);
}

function appendStep(log: LogBuilder, intent: string, type: EventType): void {
  const call = callOf(log.state(), intent);
  const tool = call?.tool ?? 'read_file';
  switch (type) {
    case 'tool.intent':
      log.append(type, sample(type, { tool }), { intent });
      return;
    case 'tool.approval.allowed': {
      const { invocation } = sample(type);
      log.append(type, sample(type, { invocation: { ...invocation, intent } }), { intent });
      return;
    }
    case 'tool.execution.completed':
      log.append(type, sample(type, { claimSeq: call?.claim?.seq ?? null }), { intent });
      return;
    default:
      log.append(type, sample(type), { intent });
  }
}
