/** Asks that nobody answered in time. */
import { eventSubject, parseTimerSubject } from '@interlock/contracts';
import { ack, type Delivery, type Fate, newTraceparent, readMessages } from '@interlock/kit';
import { firstStanding, isCancelled, type OpenLane, openLane } from './answer.ts';
import { recordExpired } from './answers.ts';
import { type PolicyHouse, remind } from './record.ts';
import type { PolicyState } from './state.ts';

/**
 * Handles a fired timer. It has no place in the log, so the session is folded to the leader's present end; an answer
 * that was stored before the expiry wins, and its own delivery carries it out.
 */
export function createTimerHandler(house: PolicyHouse): (delivery: Delivery) => Promise<Fate> {
  return async ({ subject, timestamp, logger }) => {
    const timer = parseTimerSubject(subject);
    if (timer?.kind !== 'approval') {
      logger.warn({ subject }, 'not a timer of this service');
      return ack;
    }
    const { tenant, session, id } = timer;
    for (;;) {
      const state = await house.sessions.latest(tenant, session);
      const open = laneOfAsk(state, id);
      if (!open || isCancelled(state, open.intent)) return ack;
      const { intent, lane } = open;
      const { expiresAt } = lane.asked.data;
      if (timestamp.getTime() < Date.parse(expiresAt)) {
        await remind(house, timer, id, expiresAt);
        return ack;
      }
      if (await answeredInTime(house, state, lane)) return ack;
      const place = { tenant, session, intent };
      const occasion = { place, state, lane, causationid: id, traceparent: newTraceparent() };
      if (await recordExpired(house, occasion)) return ack;
    }
  };
}

function laneOfAsk(state: PolicyState, askedId: string): { intent: string; lane: OpenLane } | null {
  for (const [intent, { asked }] of Object.entries(state.lanes)) {
    const lane = asked?.envelope.id === askedId ? openLane(state, intent) : null;
    if (lane) return { intent, lane };
  }
  return null;
}

async function answeredInTime({ bus }: PolicyHouse, state: PolicyState, lane: OpenLane): Promise<boolean> {
  const answer = firstStanding(state, lane);
  if (!answer) return false;
  const { tenant, session } = state.conversation;
  const filter = eventSubject({ tenant, session, lane: 'u', type: 'tool.answer' });
  const range = { filter, fromSeq: answer.seq, throughSeq: answer.seq, limit: 1 };
  const [stored] = await readMessages(bus, range);
  return stored !== undefined && stored.timestamp.getTime() < Date.parse(lane.asked.data.expiresAt);
}
