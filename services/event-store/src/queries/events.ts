/** `query.events`: a session's events as stored, by sequence. */
import { type eventsQueryV1, type eventsReplyV1, sessionFilter } from '@interlock/contracts';
import { type Bus, canonicalJson, isCanonical, readMessages, type StoredMessage } from '@interlock/kit';
import type { z } from 'zod';
import { noSuchSession } from './refusal.ts';

type Query = z.output<typeof eventsQueryV1>;
type Reply = z.output<typeof eventsReplyV1>;
type QueriedEvent = Extract<Reply, { ok: true }>['events'][number];

/** Stored bytes of one page, roughly; a single event above it is a page of its own. */
const PAGE_BYTES = 700 * 1024;
/** Messages of one read: large ones must not be fetched by the thousand for a page of a few. */
const CHUNK = 64;

/** Reads a page. Complete through the sequence asked for, and through the leader's present end where none is named. */
export async function queryEvents(bus: Bus, tenant: string, query: Query): Promise<Reply> {
  const filter = sessionFilter(tenant, query.session);
  const page: StoredMessage[] = [];
  let fromSeq = Math.max(1, query.fromSeq);
  let sizeBytes = 0;
  for (;;) {
    // One more than may be given, to know whether there is more.
    const limit = Math.min(CHUNK, query.limit - page.length + 1);
    const { throughSeq } = query;
    const found = await readMessages(bus, { filter, fromSeq, throughSeq, limit, leader: true });
    for (const message of found) {
      sizeBytes += message.data.length;
      const full = page.length === query.limit || (page.length > 0 && sizeBytes > PAGE_BYTES);
      if (full) return reply(query, page, true);
      page.push(message);
      fromSeq = message.seq + 1;
    }
    if (found.length < limit) break;
  }
  if (page.length === 0 && query.fromSeq <= 1) return noSuchSession(query.session);
  return reply(query, page, false);
}

function reply(query: Query, page: readonly StoredMessage[], more: boolean): Reply {
  const throughSeq = page.at(-1)?.seq ?? Math.max(0, query.fromSeq - 1);
  return { ok: true, events: page.map(toQueried), throughSeq, more };
}

/**
 * What is no JSON object has no envelope to show: its bytes stand in the place of one. An envelope in bytes that are not
 * canonical has them beside it, for they are what is hashed.
 */
function toQueried({ seq, subject, data }: StoredMessage): QueriedEvent {
  const stored = Buffer.from(data);
  const event = objectOf(stored.toString('utf8'));
  const base64 = (): string => stored.toString('base64');
  if (event === null) return { seq, event: { type: 'unreadable', subject, base64: base64() } };
  const isPlain = isCanonical(event) && Buffer.from(canonicalJson(event)).equals(stored);
  return isPlain ? { seq, event } : { seq, event, bytes: base64() };
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
