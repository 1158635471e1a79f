/** What follows from the end of a request: the stop table of the design. Pure. */
import type { FinishReason, ModelRequestedV1, RunState, Stop } from '@interlock/contracts';

export interface Finish {
  readonly kind: 'finish';
  readonly reason: FinishReason;
  readonly detail?: string;
}
export interface Request {
  readonly kind: 'request';
  readonly because: ModelRequestedV1['because'];
}

/** What the end of the last request asks for, once all its calls are observed. */
export function verdictOn(run: RunState): Finish | Request {
  const { last } = run;
  if (!last) return { kind: 'request', because: 'next_turn' };
  return last.kind === 'failed' ? verdictOnFailure(last) : verdictOnStop(last.stop, run);
}

function verdictOnFailure({ category, message }: { category: string; message: string }): Finish {
  const detail = `${category}: ${message}`;
  if (category === 'context_window') return { kind: 'finish', reason: 'context_window', detail };
  if (category === 'model_cancelled') return { kind: 'finish', reason: 'cancelled', detail };
  return { kind: 'finish', reason: 'model_failed', detail };
}

/** The stop table of the design. Calls that ran have been observed by now. */
function verdictOnStop(stop: Stop, run: RunState): Finish | Request {
  switch (stop) {
    case 'end_turn':
    case 'stop_sequence':
      return { kind: 'finish', reason: 'completed' };
    case 'tool_calls':
    case 'unknown':
      return { kind: 'request', because: 'next_turn' };
    case 'max_tokens':
      return verdictOnCut(run);
    case 'pause':
      return { kind: 'request', because: 'pause' };
    case 'compaction':
      return { kind: 'request', because: 'compaction' };
    case 'refusal':
      return { kind: 'finish', reason: 'refused', detail: 'the model refused' };
    case 'content_filter':
      return {
        kind: 'finish',
        reason: 'refused',
        detail: 'a content filter of the provider stopped the answer',
      };
    case 'context_window':
      return {
        kind: 'finish',
        reason: 'context_window',
        detail: 'the conversation no longer fits the model',
      };
  }
}

function verdictOnCut({ cutInRow }: RunState): Finish | Request {
  if (cutInRow === 1) return { kind: 'request', because: 'next_turn' };
  const detail =
    cutInRow === 0
      ? 'the answer was cut off by the token limit'
      : `${cutInRow} answers in a row were cut off in their calls`;
  return { kind: 'finish', reason: 'length', detail };
}
