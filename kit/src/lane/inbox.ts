/** Lanes without comparison: what people say (`u`) and evidence (`x`). Folds drop repeats by `id`. */
import type { EventType } from '@interlock/contracts';
import type { Bus } from '../connection.ts';
import { encodeEvent } from '../encode.ts';
import { failpoint } from '../failpoint.ts';
import type { AnyDraft, EventDraft, Writer } from '../writer.ts';
import { eventHeaders } from './append.ts';
import { publishConfirmed } from './publish.ts';

export interface SessionAddress {
  readonly tenant: string;
  readonly session: string;
}

/** Where an unconditional append came to stand. */
export interface Posted {
  readonly seq: number;
  readonly id: string;
}

/**
 * Appends to the inbox of a session. A lost acknowledgement makes it publish again with the same `id`, so the log may
 * hold it twice; folds count it once.
 * @throws AppendUnconfirmedError after 20 seconds; RetryableError `log_full`; TerminalError `message_too_large`
 */
export function appendInbox<Type extends EventType>(
  bus: Bus,
  writer: Writer,
  address: SessionAddress,
  draft: EventDraft<Type>,
): Promise<Posted> {
  return post(bus, writer, { ...address, lane: 'u' }, draft as AnyDraft);
}

/** Appends evidence beside the journals of a session. As `appendInbox`. */
export function appendSide<Type extends EventType>(
  bus: Bus,
  writer: Writer,
  address: SessionAddress,
  draft: EventDraft<Type>,
): Promise<Posted> {
  return post(bus, writer, { ...address, lane: 'x' }, draft as AnyDraft);
}

async function post(
  bus: Bus,
  writer: Writer,
  lane: SessionAddress & { readonly lane: 'u' | 'x' },
  draft: AnyDraft,
): Promise<Posted> {
  const { subject, bytes, envelope } = await encodeEvent(bus, writer, { lane }, draft);
  failpoint('before-append', draft.type);
  const stored = await publishConfirmed(bus, { subject, bytes, headers: eventHeaders(envelope.traceparent) });
  if (stored.kind === 'conflict') throw new Error(`${subject}: a conflict without a comparison`);
  failpoint('after-append', draft.type);
  writer.metrics?.appends.inc({ type: draft.type });
  return { seq: stored.seq, id: envelope.id };
}
