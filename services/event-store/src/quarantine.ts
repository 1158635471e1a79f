/** Which stored messages take no part in any fold, and why. Pure. */
import {
  type ConversationState,
  codesOf,
  type ErrorCode,
  EVENTS,
  type EventAddress,
  type EventQuarantinedV1,
  HOUSE_TENANT,
  isToken,
  type Judgement,
  judge,
  type LogEntry,
  parseEventSubject,
  type RegistryState,
} from '@interlock/contracts';

/** A stray, and the tenant whose registry lane tells of it. */
export interface Stray {
  readonly tenant: string;
  readonly data: EventQuarantinedV1;
}

const REASON_LIMIT = 500;
const RECORDED = new Set<ErrorCode>([...codesOf('wire'), 'bad_signature']);

/** Where an entry lives, when its subject is one a fold can have; null otherwise. */
export function foldableAddress(subject: string): EventAddress | null {
  const address = parseEventSubject(subject);
  return address && isToken(address.tenant) && isToken(address.session) ? address : null;
}

/** The stray of a message on no lane at all. */
export function misplaced(entry: LogEntry): Stray {
  const reason = entry.type === 'unreadable' ? entry.reason : 'not a subject of an event';
  return strayOf(entry, entry.type === 'unreadable' ? entry.code : 'unreadable_event', reason);
}

/** The stray that an entry of a session is, in the state before it; null when it counts. */
export function strayInSession(before: ConversationState, entry: LogEntry): Stray | null {
  if (entry.type === 'unreadable') return strayOf(entry, entry.code, entry.reason);
  const judgement: Judgement = judge(before, entry);
  if (judgement.legal) return null;
  // A writer that lost its acknowledgement says the same again, under the same id: folds drop it, and nothing is wrong.
  const known = EVENTS[entry.type].lane === 'u' && before.inbox[entry.envelope.id] !== undefined;
  if (known && judgement.code === 'illegal_transition') return null;
  return strayOf(entry, judgement.code, judgement.reason);
}

/** The stray that an entry of a registry lane is, in the state before it; null when it counts. */
export function strayInRegistry(before: RegistryState, entry: LogEntry): Stray | null {
  if (entry.type === 'unreadable') return strayOf(entry, entry.code, entry.reason);
  const { prevseq, prevhash } = entry.envelope;
  if (prevseq === before.tail.seq && prevhash === before.tail.hash) return null;
  return strayOf(
    entry,
    'chain_broken',
    `chains to ${prevseq ?? 'nothing'}, the lane ends at ${before.tail.seq}`,
  );
}

/** The record of a stray. A tenant or an id that cannot be read is left out, and the house tells of it. */
export function strayOf(entry: Pick<LogEntry, 'seq' | 'subject'>, code: ErrorCode, reason: string): Stray {
  const address = parseEventSubject(entry.subject);
  const { tenant = '', session = '', intent = '' } = address ?? {};
  return {
    tenant: isToken(tenant) ? tenant : HOUSE_TENANT,
    data: {
      ...(isToken(session) ? { session } : {}),
      ...(isToken(intent) ? { intent } : {}),
      seq: entry.seq,
      subject: entry.subject,
      code: isRecorded(code) ? code : 'unreadable_event',
      reason: reason.slice(0, REASON_LIMIT),
    },
  };
}

function isRecorded(code: ErrorCode): code is EventQuarantinedV1['code'] {
  return RECORDED.has(code);
}
